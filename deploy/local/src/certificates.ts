import "reflect-metadata";
import { KeyObject, webcrypto, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  X509Certificate as Issued,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const dayMs = 86_400_000;
const authorityDays = 3_650;
const leafDays = 397;
const renewDays = 30;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const crypto = webcrypto as Parameters<typeof X509CertificateGenerator.create>[1];

export type Certificates = {
  /** PEM file of the authorities that are trusted: one, two while one replaces the other. */
  ca: string;
  /** PEM files of one party's certificate and key. */
  of(name: string): { cert: string; key: string };
};

/**
 * The certificates of a cluster on this machine, in `<folder>`; those that are missing or end within 30 days are
 * issued.
 */
export async function clusterCertificates(folder: string, names: readonly string[]): Promise<Certificates> {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const ca = join(folder, "ca.pem");
  const signing = join(folder, "ca-signing.pem");
  if (!existsSync(ca) || !existsSync(signing)) await newAuthority(folder);
  for (const name of names) if (!isGood(certificateOf(folder, name).cert)) await issue(folder, name);
  return { ca, of: (name) => certificateOf(folder, name) };
}

/**
 * Replaces all certificates by ones of a new authority without interruption: first both authorities are trusted, then
 * `settled` is awaited (every process has read that), then certificates are replaced, then the old authority is
 * removed.
 */
export async function rotateCertificates(
  folder: string,
  names: readonly string[],
  settled: () => Promise<void>,
): Promise<void> {
  const ca = join(folder, "ca.pem");
  const before = readFileSync(ca, "utf8");
  await newAuthority(folder, before);
  await settled();
  for (const name of names) await issue(folder, name);
  await settled();
  write(ca, readFileSync(join(folder, "ca-signing.pem"), "utf8"), 0o644);
}

export const certificateOf = (folder: string, name: string) => ({
  cert: join(folder, `${name}.pem`),
  key: join(folder, `${name}-key.pem`),
});

function isGood(cert: string): boolean {
  if (!existsSync(cert)) return false;
  return Date.parse(new X509Certificate(readFileSync(cert)).validTo) > Date.now() + renewDays * dayMs;
}

async function newKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as unknown as CryptoKeyPair;
}

type CryptoKeyPair = { privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey };

const period = (days: number) => ({
  notBefore: new Date(Date.now() - dayMs),
  notAfter: new Date(Date.now() + days * dayMs),
});

const keyPem = ({ privateKey }: CryptoKeyPair) =>
  KeyObject.from(privateKey).export({ type: "pkcs8", format: "pem" }) as string;

/** Creates the authority that signs from now on; it is trusted together with `others`. */
async function newAuthority(folder: string, others = ""): Promise<void> {
  const keys = await newKeys();
  const authority = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=Muster on this machine ${Date.now()}`,
      keys: keys as never,
      ...period(authorityDays),
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    crypto,
  );
  const pem = `${authority.toString("pem")}\n`;
  write(join(folder, "ca-key.pem"), keyPem(keys), 0o600);
  write(join(folder, "ca-signing.pem"), pem, 0o644);
  write(join(folder, "ca.pem"), `${pem}${others}`, 0o644);
}

async function issue(folder: string, name: string): Promise<void> {
  const authority = new Issued(readFileSync(join(folder, "ca-signing.pem"), "utf8"));
  const der = Buffer.from(
    readFileSync(join(folder, "ca-key.pem"), "utf8").replace(/-----[^-]+-----|\s/g, ""),
    "base64",
  );
  const signingKey = await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create(
    {
      subject: `CN=${name}`,
      issuer: authority.subject,
      publicKey: keys.publicKey as never,
      signingKey: signingKey as never,
      ...period(leafDays),
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension([
          { type: "dns", value: "localhost" },
          { type: "dns", value: name },
          { type: "ip", value: "127.0.0.1" },
          { type: "ip", value: "::1" },
        ]),
      ],
    },
    crypto,
  );
  const files = certificateOf(folder, name);
  write(files.key, keyPem(keys), 0o600);
  write(files.cert, `${certificate.toString("pem")}\n`, 0o644);
}

/** Readers see the old file or the new one. */
function write(file: string, text: string, mode: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  renameSync(`${file}.new`, file);
}
