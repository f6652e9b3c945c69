import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const fileOf = (name: string) => fileURLToPath(new URL(`../tls/${name}`, import.meta.url));

/** PEM file of the CA for tests: pass it to a process as NODE_EXTRA_CA_CERTS. */
export const testCaFile = fileOf("ca.pem");

/** Key and certificate of `*.example.test`, localhost and 127.0.0.1; or one that is wrong as its name says. */
export function testCertificate(name: "server" | "expired" | "self-signed" | "other-name" | "client-only" = "server") {
  return { key: readFileSync(fileOf(`${name}-key.pem`)), cert: readFileSync(fileOf(`${name}.pem`)) };
}
