<?php
// Not run by Muster's tests. PHP 8; ed25519 needs the extension sodium, which PHP brings.

/** Whether $key signed the request: the secret, or a public key whpk_…. $body holds the bytes as they came. */
function is_signed(string $id, string $timestamp, string $signatures, string $body, string $key): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $signed = "{$id}.{$timestamp}.{$body}";
    foreach (explode(' ', $signatures) as $each) {
        [$version, $text] = explode(',', $each, 2) + ['', ''];
        $signature = base64_decode($text, true);
        if ($signature !== false && is_by($key, $version, $signed, $signature)) {
            return true;
        }
    }
    return false;
}

function is_by(string $key, string $version, string $signed, string $signature): bool
{
    if (str_starts_with($key, 'whpk_')) {
        return $version === 'v1a' && strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES
            && sodium_crypto_sign_verify_detached($signature, $signed, base64_decode(substr($key, 5)));
    }
    $secret = str_starts_with($key, 'whsec_') ? base64_decode(substr($key, 6)) : $key;
    return $version === 'v1' && hash_equals(hash_hmac('sha256', $signed, $secret, true), $signature);
}
