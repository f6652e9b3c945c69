import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";

const secret = process.env.WEBHOOK_SECRET;
const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
const same = (a, b = "") => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const fresh = (seconds) => Math.abs(Date.now() / 1000 - Number(seconds)) < 300;

// X-Service-Signature: sha256= and the hex HMAC-SHA256 of "<timestamp>.<raw body>".
function ours({ headers, body }) {
  const at = headers["x-service-signature-timestamp"];
  const hex = createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex");
  return fresh(at) && same(`sha256=${hex}`, headers["x-service-signature"]);
}
// Standard Webhooks: "v1," and the base64 HMAC-SHA256 of "<id>.<timestamp>.<raw body>"; several while a secret is
// rotated.
function standard({ headers, body }) {
  const [id, at] = [headers["webhook-id"], headers["webhook-timestamp"]];
  const base64 = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
  return (
    fresh(at) &&
    String(headers["webhook-signature"])
      .split(" ")
      .some((each) => same(`v1,${base64}`, each))
  );
}

const app = express();
app.post("/hook", express.raw({ type: "application/json", limit: "128kb" }), (request, response) => {
  if (!ours(request) && !standard(request)) return response.sendStatus(401);
  const event = JSON.parse(request.body); // Answer first, work later; drop an event.id that you have seen.
  console.log(event.type, event.id);
  return response.sendStatus(204);
});
app.listen(process.env.PORT ?? 8443, "127.0.0.1", () => console.log("listening"));
