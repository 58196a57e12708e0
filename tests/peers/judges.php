<?php
// The verifier of the examples as a server that is told events: VERIFY=…/verify.php php -S 127.0.0.1:… judges.php
// What it takes and answers is told in judges.mjs. It keeps the secret and the last message in the folder where it runs,
// because each request begins anew.
declare(strict_types=1);

require getenv('VERIFY');

$body = file_get_contents('php://input');
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    exit(is_file('last') ? file_get_contents('last') : 'null');
}
if ($_SERVER['REQUEST_METHOD'] === 'PUT') {
    file_put_contents('secret', $body);
    http_response_code(204);
    exit;
}
$headers = getallheaders();
$lower = array_change_key_case($headers);
file_put_contents('last', json_encode(['headers' => $lower, 'body' => base64_encode($body)]));
$at = isset($lower['judge-at']) ? (int) $lower['judge-at'] : null;
try {
    $id = verify($body, $headers, file_get_contents('secret'), $at);
    http_response_code($id === $lower['webhook-id'] ? 204 : 500);
} catch (Refused $refused) {
    http_response_code(401);
    echo $refused->kind;
}
