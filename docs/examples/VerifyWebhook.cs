// Not run by Muster's tests. .NET 8 or newer; ed25519 needs the package NSec.Cryptography.
using System.Security.Cryptography;
using System.Text;
using NSec.Cryptography;

public static class VerifyWebhook
{
    private const long ToleranceSeconds = 300;

    /// <summary>Whether key signed the request: the secret, or a public key whpk_…. body holds the bytes as they came.</summary>
    public static bool IsSigned(string id, string timestamp, string signatures, byte[] body, string key)
    {
        if (!long.TryParse(timestamp, out var seconds)) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > ToleranceSeconds) return false;
        byte[] signed = [.. Encoding.UTF8.GetBytes($"{id}.{timestamp}."), .. body];
        return signatures.Split(' ').Any(each =>
        {
            var parts = each.Split(',', 2);
            return parts.Length == 2 && IsBy(key, parts[0], signed, Convert.FromBase64String(parts[1]));
        });
    }

    private static bool IsBy(string key, string version, byte[] signed, byte[] signature)
    {
        if (key.StartsWith("whpk_"))
        {
            var ed25519 = SignatureAlgorithm.Ed25519;
            var bytes = Convert.FromBase64String(key[5..]);
            return version == "v1a"
                && ed25519.Verify(PublicKey.Import(ed25519, bytes, KeyBlobFormat.RawPublicKey), signed, signature);
        }
        var secret = key.StartsWith("whsec_") ? Convert.FromBase64String(key[6..]) : Encoding.UTF8.GetBytes(key);
        return version == "v1" && CryptographicOperations.FixedTimeEquals(HMACSHA256.HashData(secret, signed), signature);
    }
}
