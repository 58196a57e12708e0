<?php
// Verifies a message of Lessor, or of whoever else signs as Standard Webhooks (https://www.standardwebhooks.com) say.
// Copy it: it needs PHP 8.1 and nothing else.
declare(strict_types=1);

/**
 * The message is not to be believed. Its kind is one of:
 *
 * secret_invalid     the secret is not the one that was shown
 * header_missing
 * timestamp_invalid
 * signature_wrong    another secret, or not what was sent
 * too_old
 * too_new            or the clock here is slow
 */
final class Refused extends RuntimeException
{
    public function __construct(public readonly string $kind, string $message)
    {
        parent::__construct($message);
    }
}

const TOLERANCE = 5 * 60; // seconds, either way: nobody sends an old message again

/**
 * The message's id, by which a repeat of it is known.
 *
 * @param string $body file_get_contents('php://input'): JSON that was parsed and written again is not what was signed
 * @param array<string, string> $headers getallheaders()
 */
function verify(string $body, array $headers, string $secret, ?int $now = null): string
{
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    if ($key === false || strlen($key) < 24) { // an empty one would let everybody sign
        throw new Refused('secret_invalid', 'the secret is not whsec_ and at least 24 bytes in Base64');
    }
    $headers = array_change_key_case($headers);
    foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) {
        if (($headers[$name] ?? '') === '') {
            throw new Refused('header_missing', "there is no $name");
        }
    }
    ['webhook-id' => $id, 'webhook-timestamp' => $at, 'webhook-signature' => $signatures] = $headers;
    if (!preg_match('/^\d{1,12}$/D', $at)) {
        throw new Refused('timestamp_invalid', 'webhook-timestamp is not in Unix seconds');
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
    // One for each secret: while it is rolled there are two.
    if (!array_filter(explode(' ', $signatures), fn (string $one) => hash_equals($expected, $one))) {
        throw new Refused('signature_wrong', 'no signature is by this secret');
    }
    $late = ($now ?? time()) - (int) $at;
    if (abs($late) > TOLERANCE) {
        throw $late > 0 ? new Refused('too_old', 'it was sent more than five minutes ago')
            : new Refused('too_new', 'it was sent more than five minutes from now');
    }
    return $id;
}
