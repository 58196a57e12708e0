<?php
// Takes messages of Lessor, each once: WEBHOOK_SECRET=whsec_… php -S localhost:8000 receiver.php (with php-sqlite3)
declare(strict_types=1);

require __DIR__ . '/verify.php';

http_response_code(500); // until it is done: what fails with display_errors on is answered with 200 otherwise
$body = file_get_contents('php://input');
try {
    $id = verify($body, getallheaders(), (string) getenv('WEBHOOK_SECRET'));
} catch (Refused $refused) {
    http_response_code(401);
    exit($refused->kind);
}
$books = new PDO('sqlite:books.db');
$books->exec('create table if not exists seen (id text primary key)');
$books->exec('create table if not exists tasks (type text, subject text)');
$books->beginTransaction(); // seen and done, or neither: what throws is undone, and comes again
$seen = $books->prepare('insert or ignore into seen values (?)');
$seen->execute([$id]);
if ($seen->rowCount() === 1) { // here is what you do
    $event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
    $books->prepare('insert into tasks values (?, ?)')->execute([$event['type'], $event['subject']['id']]);
}
$books->commit();
http_response_code(200);
echo $seen->rowCount() === 1 ? 'done' : 'seen before';
