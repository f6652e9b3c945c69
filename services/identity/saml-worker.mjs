// Verifies large SAML responses for src/crypto/saml/response-verifier.ts in a thread of its own, one after the other.
// Plain JavaScript beside src and dist, so that the sources find it, too; what it runs is compiled.
import { parentPort } from "node:worker_threads";
import { verifyResponse } from "./dist/crypto/saml/verify-response.js";

parentPort.on("message", ({ text, verification }) => {
  parentPort.postMessage(replyTo(text, verification));
});

function replyTo(text, verification) {
  try {
    return { facts: verifyResponse(text, verification) };
  } catch (error) {
    const { name, detail, isUnknownKey, status, message } = error;
    if (name === "SamlRefused") return { refused: detail, isUnknownKey };
    return name === "SamlStatus" ? { status } : { failed: message };
  }
}
