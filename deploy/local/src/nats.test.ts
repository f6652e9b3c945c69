import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, expect, test } from "@jest/globals";
import { generateNkey } from "@muster/bus";
import { sleep } from "@muster/kit";
import { type Certificates, clusterCertificates, rotateCertificates } from "./certificates.ts";
import { runNats } from "./nats.ts";
import { freePort } from "./ports.ts";
import { speakerNames } from "./replicas.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-nats-"));
const names = ["nats", "identity"];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The certificate that the server shows to a client of the authority; NATS greets in cleartext first. */
function shown(port: number, { ca, of }: Certificates): Promise<string> {
  const { cert, key } = of("identity");
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1").once("error", reject);
    socket.once("data", () => {
      const pem = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
      const secure: TLSSocket = connectTls({ socket, servername: "localhost", ...pem }, () => {
        resolve(secure.getPeerCertificate().fingerprint256);
        secure.destroy();
      }).once("error", reject);
    });
  });
}

test("certificates that were replaced are shown after SIGHUP, without a restart", async () => {
  mkdirSync(join(folder, "logs"));
  const certificates = await clusterCertificates(join(folder, "tls"), names);
  const port = await freePort();
  const nats = await runNats({
    binary: process.env.MUSTER_TEST_NATS_BIN ?? "nats-server",
    dataDir: folder,
    port,
    publicNkeys: Object.fromEntries(speakerNames.map((name) => [name, generateNkey().publicKey])),
    tls: { ca: certificates.ca, ...certificates.of("nats") },
    cluster: null,
    changed: () => undefined,
    say: () => undefined,
  });
  try {
    const before = await shown(port, certificates);
    const reloaded = async () =>
      void process.kill(Number(readFileSync(join(folder, "nats/nats.pid"), "utf8")), "SIGHUP");
    await rotateCertificates(join(folder, "tls"), names, reloaded);
    await reloaded();
    let after = "";
    for (let tries = 0; tries < 100 && (after === "" || after === before); tries += 1) {
      // Verified by the new authority alone: until the server read again it is refused.
      after = await shown(port, certificates).catch(() => "");
      if (after === "" || after === before) await sleep(50);
    }
    expect(after).toMatch(/^[0-9A-F:]{95}$/);
    expect(after).not.toBe(before);
  } finally {
    await nats.stop(0);
  }
});
