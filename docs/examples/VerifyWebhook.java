// Verifies a webhook's request: java VerifyWebhook.java WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE KEY < body
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Java 17 or newer. */
public final class VerifyWebhook {
  private static final long TOLERANCE_SECONDS = 300;
  /** What stands before the 32 bytes of a key in its SubjectPublicKeyInfo (RFC 8410). */
  private static final byte[] PREFIX = HexFormat.of().parseHex("302a300506032b6570032100");

  /** Whether key signed the request: the secret, or a public key whpk_…. body holds the bytes as they came. */
  public static boolean isSigned(String id, String timestamp, String signatures, byte[] body, String key)
      throws GeneralSecurityException {
    long age = System.currentTimeMillis() / 1000 - Long.parseLong(timestamp);
    if (Math.abs(age) > TOLERANCE_SECONDS) return false;
    byte[] signed = joined((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8), body);
    for (String each : signatures.split(" ")) {
      String[] parts = each.split(",", 2);
      if (parts.length == 2 && isBy(key, parts[0], signed, Base64.getDecoder().decode(parts[1]))) return true;
    }
    return false;
  }

  private static boolean isBy(String key, String version, byte[] signed, byte[] signature)
      throws GeneralSecurityException {
    if (key.startsWith("whpk_")) {
      if (!version.equals("v1a")) return false;
      byte[] encoded = joined(PREFIX, Base64.getDecoder().decode(key.substring(5)));
      PublicKey publicKey = KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
      Signature verifier = Signature.getInstance("Ed25519");
      verifier.initVerify(publicKey);
      verifier.update(signed);
      return verifier.verify(signature);
    }
    boolean isBase64 = key.startsWith("whsec_");
    byte[] secret = isBase64 ? Base64.getDecoder().decode(key.substring(6)) : key.getBytes(StandardCharsets.UTF_8);
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret, "HmacSHA256"));
    return version.equals("v1") && MessageDigest.isEqual(mac.doFinal(signed), signature);
  }

  private static byte[] joined(byte[] first, byte[] second) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(first);
    out.writeBytes(second);
    return out.toByteArray();
  }

  public static void main(String[] args) throws Exception {
    System.exit(isSigned(args[0], args[1], args[2], System.in.readAllBytes(), args[3]) ? 0 : 1);
  }
}
