import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { openEgress, parseExceptions, validateUrl } from "@muster/egress";
import { createLogger, gauge, secretBox, uuidv7 } from "@muster/kit";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { unchangedProvider } from "../commands/sso/login-flow.ts";
import { refreshMetadata, refreshOutOfTurn, storeMetadata, warnOfExpiry } from "../commands/sso/refresh-metadata.ts";
import { endKeyGracePeriods, renewKey } from "../commands/sso/renew-key.ts";
import { readCertificate } from "../crypto/saml/certificates.ts";
import { newOwnKey } from "../crypto/saml/own-key.ts";
import { asService } from "../rules/as-service.ts";
import type { ProviderRow, StoredCertificate } from "../rules/sso/provider.ts";
import type { LoginFlowEnded } from "../rules/sso/reasons.ts";
import { samlKeyLocation, sealedColumns, secretPurposes } from "../store/sealed-columns.ts";
import { findLogin, insertLogin, type LoginRow } from "../store/sso/logins.ts";
import { readProvider } from "../store/sso/providers.ts";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { recheckDomains } from "./sso-cleanup.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const host = "idp.example.test";

/** An identity provider's reply at a path; a number is a status without a document. */
const pages = new Map<string, string | number | (() => Promise<string>)>();
let identity: TestIdentity;
let deps: Parameters<typeof refreshMetadata>[0];
let origin: string;
let close: () => Promise<unknown>;
let key: Awaited<ReturnType<typeof newCertificate>>;
let next: typeof key;
beforeAll(async () => {
  identity = await startTestIdentity();
  const server = createServer(testCertificate(), (request, response) => {
    const send = async () => {
      const page = pages.get(request.url ?? "") ?? 404;
      if (typeof page === "number") response.writeHead(page).end();
      else response.end(typeof page === "string" ? page : await page());
    };
    send().catch((error: unknown) => response.destroy(error as Error));
  });
  const listens = await listening(server);
  origin = `https://${host}:${listens.port}`;
  const exceptions = parseExceptions(`${host}:${listens.port}=127.0.0.1`, "test");
  const egress = openEgress({ profile: "sso", exceptions, ca: readFileSync(testCaFile, "utf8") });
  close = async () => {
    await egress.close();
    await listens.close();
  };
  deps = {
    db: identity.db,
    egress,
    checkUrl: (url) => void validateUrl(url, exceptions),
    log: createLogger("sso-cleanup-test", "fatal"),
    now: () => identity.clock.now,
  };
  [key, next] = await Promise.all([newCertificate(), newCertificate()]);
}, 60_000);
afterAll(async () => {
  await close?.();
  await identity?.close();
});

const pass = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};

async function newCertificate(): Promise<StoredCertificate> {
  const { certificate } = await newOwnKey(new Date(Date.now() - dayMs));
  const read = readCertificate(certificate, "metadata");
  if (typeof read === "string") throw new Error(read);
  return read;
}

function metadataOf(entityId: string, certificates: readonly StoredCertificate[]): string {
  const keys = certificates.map(
    ({ pem }) =>
      `<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${pem.replaceAll(/-----[A-Z ]+-----|\s/g, "")}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`,
  );
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${keys.join("")}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${origin}/sso"/></IDPSSODescriptor></EntityDescriptor>`;
}

type Owner = { partnerId: string; orgId: string };
async function newOwner(): Promise<Owner> {
  const partnerId = await identity.addPartner();
  return { partnerId, orgId: await identity.addOrganization(partnerId) };
}

/** An active SAML provider whose metadata was read just now at `<origin>/<id>`, with these certificates. */
async function provider(
  certificates: readonly StoredCertificate[],
  { owner, status = "active", readMsAgo = 0 }: { owner?: Owner; status?: string; readMsAgo?: number } = {},
): Promise<{ id: string; path: string; entityId: string; read(): Promise<ProviderRow> }> {
  const id = uuidv7();
  const path = `/${id}`;
  const entityId = `${origin}${path}`;
  const { partnerId, orgId } = owner ?? (await newOwner());
  const { now } = identity.clock;
  await identity.db.tx(identity.system, (tx) =>
    tx.execute(sql`
      INSERT INTO sso_providers (id, partner_id, org_id, name, type, status, scopes, saml_entity_id, saml_sso_url,
                                 saml_metadata_url, saml_metadata_at, saml_certificates, created_by, created_at, updated_at)
      VALUES (${id}, ${partnerId}, ${orgId}, 'P', 'saml', ${status}, '', ${entityId}, ${`${origin}/sso`}, ${entityId},
              ${new Date(now.getTime() - readMsAgo)}, ${JSON.stringify(certificates)}::jsonb, ${id}, ${now}, ${now})`),
  );
  pages.set(path, metadataOf(entityId, certificates));
  const read = async () => {
    const row = await readProvider(identity.db, id);
    if (!row) throw new Error("the provider is gone");
    return row;
  };
  return { id, path, entityId, read };
}

/**
 * A login flow through a provider that began just now. The result resolves to how it would go on, read anew and as a
 * request has it in hand that read it before: "goes on", or the reason for its end.
 */
async function loginFlowOf({
  id,
  read,
}: {
  id: string;
  read(): Promise<ProviderRow>;
}): Promise<() => Promise<string[]>> {
  const stateHash = randomBytes(32);
  const { generation } = await read();
  const { now } = identity.clock;
  const flow = { kind: "login", user_id: null, session_id: null, request_id: null, secrets_sealed: null } as const;
  const login = { ...flow, state_hash: stateHash, provider_id: id, generation, redirect_url: "/" };
  await insertLogin(identity.db, login, now, new Date(now.getTime() + 10 * dayMs));
  const inHand = await findLogin(identity.db, stateHash);
  return async () => {
    const ends = [await findLogin(identity.db, stateHash), inHand].map((row) =>
      unchangedProvider({ db: identity.db }, row as LoginRow).then(
        () => "goes on",
        (error: LoginFlowEnded) => error.reason,
      ),
    );
    return Promise.all(ends);
  };
}

const fingerprintsOf = async ({ read }: { read(): Promise<ProviderRow> }) =>
  (await read()).saml_certificates.map(({ fingerprint }) => fingerprint).sort();
const actionsOf = async ({ id }: { id: string }) => (await identity.auditOf(id)).map(({ action }) => action);

describe("metadata of a SAML provider", () => {
  it("is read daily: a new certificate is added, which sign-ins in flight survive, and is audited", async () => {
    const own = await provider([key]);
    const inFlight = await loginFlowOf(own);
    pages.set(own.path, metadataOf(own.entityId, [key, next]));
    pass(dayMs - 1_000);
    await refreshMetadata(deps);
    expect(await fingerprintsOf(own)).toEqual([key.fingerprint]);
    pass(2_000);
    await refreshMetadata(deps);
    expect(await fingerprintsOf(own)).toEqual([key.fingerprint, next.fingerprint].sort());
    expect(await own.read()).toMatchObject({
      saml_metadata_error: null,
      saml_metadata_at: identity.clock.now,
    });
    expect(await inFlight()).toEqual(["goes on", "goes on"]);
    const [row] = await identity.auditOf(own.id);
    expect([row?.action, row?.actorType, row?.actorId]).toEqual(["sso.provider.update", "system", "identity"]);
    pass(dayMs + 1_000);
    await refreshMetadata(deps);
    expect(await actionsOf(own)).toEqual(["sso.provider.update"]);
  });

  it("keeps a certificate that it no longer names for seven days", async () => {
    const own = await provider([key, next]);
    pages.set(own.path, metadataOf(own.entityId, [next]));
    for (let day = 0; day < 7; day++) {
      pass(dayMs + 1_000);
      await refreshMetadata(deps);
      expect(await fingerprintsOf(own)).toEqual([key.fingerprint, next.fingerprint].sort());
    }
    const inFlight = await loginFlowOf(own);
    pass(dayMs + 1_000);
    await refreshMetadata(deps);
    expect(await fingerprintsOf(own)).toEqual([next.fingerprint]);
    // What was verified by the certificate that has ended counts no more.
    expect(await inFlight()).toEqual(["provider_changed", "provider_changed"]);
  });

  it("is read ahead of its schedule once for concurrent sign-ins, and again after 30 s", async () => {
    const own = await provider([key], { readMsAgo: 31_000 });
    let reads = 0;
    pages.set(own.path, async () => {
      reads++;
      return metadataOf(own.entityId, [key, next]);
    });
    const row = await own.read();
    await Promise.all([1, 2, 3].map(() => refreshOutOfTurn(deps, row)));
    expect([reads, await fingerprintsOf(own)]).toEqual([1, [key.fingerprint, next.fingerprint].sort()]);
    pass(29_000);
    await refreshOutOfTurn(deps, await own.read());
    expect(reads).toBe(1);
    pass(2_000);
    await refreshOutOfTurn(deps, await own.read());
    expect(reads).toBe(2);
  });

  it.each<[string, (own: { entityId: string }) => string | number, RegExp]>([
    ["is away", () => 503, /503/],
    ["redirects", () => 302, /302/],
    ["is junk", () => "<a/>", /EntityDescriptor/],
    ["is of another entity", () => metadataOf("https://evil.example", [next]), /another entity/],
    [
      "leads into the building",
      ({ entityId }) => metadataOf(entityId, [next]).replace(`${origin}/sso`, "https://10.0.0.1/sso"),
      /not public/,
    ],
    ["is larger than 1 MiB", () => "x".repeat(1_024 * 1_024 + 1), /1048576/],
  ])("changes nothing with content that %s, records the reason, and is read again hourly", async (_what, page, why) => {
    const own = await provider([key]);
    const good = pages.get(own.path);
    pages.set(own.path, page(own));
    pass(dayMs + 1_000);
    await refreshMetadata(deps);
    expect(await own.read()).toMatchObject({ generation: 1, saml_metadata_error: expect.stringMatching(why) });
    expect(await fingerprintsOf(own)).toEqual([key.fingerprint]);
    if (good !== undefined) pages.set(own.path, good);
    pass(hourMs - 1_000);
    await refreshMetadata(deps);
    expect((await own.read()).saml_metadata_error).not.toBeNull();
    pass(2_000);
    await refreshMetadata(deps);
    expect(await own.read()).toMatchObject({ generation: 1, saml_metadata_error: null });
    expect(await actionsOf(own)).toEqual([]);
  });

  it("is stored by two reads at once without the loss of what either found, audited once", async () => {
    const own = await provider([key], { readMsAgo: 31_000 });
    const row = await own.read();
    const found = { certificates: [key, next], omitted: [] };
    await Promise.all([1, 2].map(() => storeMetadata(deps, asService(), row, found)));
    // One that read before the other had changed anything, from a replica that had not seen the new key.
    await storeMetadata(deps, asService(), row, { certificates: [key], omitted: [] });
    expect(await fingerprintsOf(own)).toEqual([key.fingerprint, next.fingerprint].sort());
    expect(await actionsOf(own)).toEqual(["sso.provider.update"]);
  });

  it("is not read for an inactive provider, and overwrites no concurrent change by a user", async () => {
    const off = await provider([key], { status: "inactive", readMsAgo: 10 * dayMs });
    const busy = await provider([key], { readMsAgo: 10 * dayMs });
    pages.set(off.path, metadataOf(off.entityId, [next]));
    pages.set(busy.path, async () => {
      await identity.db.tx(identity.system, (tx) =>
        tx.execute(sql`UPDATE sso_providers SET generation = generation + 1 WHERE id = ${busy.id}`),
      );
      return metadataOf(busy.entityId, [next]);
    });
    await refreshMetadata(deps);
    expect([await fingerprintsOf(off), await fingerprintsOf(busy)]).toEqual([[key.fingerprint], [key.fingerprint]]);
    expect((await busy.read()).generation).toBe(2);
    pages.set(busy.path, metadataOf(busy.entityId, [key]));
    await refreshMetadata(deps);
  });

  it("is read round-robin by partner: one with many providers delays no other", async () => {
    const crowd = await newOwner();
    const many = [];
    for (let n = 0; n < 25; n++) many.push(await provider([key], { owner: crowd, readMsAgo: 30 * dayMs }));
    for (const { path } of many) pages.set(path, 503);
    const other = await provider([key], { readMsAgo: 2 * dayMs });
    await refreshMetadata(deps);
    expect((await other.read()).saml_metadata_at).toEqual(identity.clock.now);
    const tried = await Promise.all(many.map(({ read }) => read()));
    expect(tried.filter(({ saml_metadata_error }) => saml_metadata_error !== null)).toHaveLength(4);
  });
});

describe("certificates of a SAML provider that expire", () => {
  const ending = (days: number): StoredCertificate => ({
    ...key,
    notAfter: new Date(identity.clock.now.getTime() + days * dayMs + hourMs).toISOString(),
  });
  const warnings = async ({ id }: { id: string }) =>
    (await identity.auditOf(id))
      .filter(({ action }) => action === "sso.provider.certificates.expiring")
      .map(({ detailsJson }) => (JSON.parse(detailsJson) as { days: number }).days);

  it("cause warnings 30, 7, 1 and 0 days before the last one expires, once each, with any number of replicas", async () => {
    const own = await provider([ending(5), ending(31)]);
    const seen: number[][] = [];
    for (let day = 0; day <= 32; day++) {
      await Promise.all([warnOfExpiry(deps), warnOfExpiry(deps), warnOfExpiry(deps)]);
      const days = await warnings(own);
      if (days.length > (seen.at(-1)?.length ?? 0)) seen.push(days);
      pass(dayMs);
    }
    expect(seen).toEqual([[30], [30, 7], [30, 7, 1], [30, 7, 1, 0]]);
  });

  it("cause warnings again after a replacement, and none while the provider is inactive", async () => {
    const own = await provider([ending(3)]);
    const off = await provider([ending(3)], { status: "inactive" });
    await warnOfExpiry(deps);
    pages.set(own.path, metadataOf(own.entityId, [key, next]));
    pass(dayMs + 1_000);
    await refreshMetadata(deps);
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(
        sql`UPDATE sso_providers SET saml_certificates = ${JSON.stringify([ending(6)])}::jsonb WHERE id = ${own.id}`,
      ),
    );
    await warnOfExpiry(deps);
    expect([await warnings(own), await warnings(off)]).toEqual([[3, 6], []]);
  });

  it("show in a metric, the nearest expiry of all", async () => {
    await provider([ending(12)]);
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(
        sql`UPDATE sso_providers SET status = 'inactive'
            WHERE status = 'active' AND (saml_certificates -> 0 ->> 'notAfter')::timestamptz < ${new Date(identity.clock.now.getTime() + 12 * dayMs)}`,
      ),
    );
    await warnOfExpiry(deps);
    const { values } = await gauge("muster_identity_sso_certificate_expiry_seconds", "").get();
    expect(values.map(({ value }) => value)).toEqual([12 * 86_400]);
  });
});

describe("a verified domain", () => {
  it("is looked up daily: a lost record is reported and ends nothing, and a restored one clears the report", async () => {
    const [id, owner] = [uuidv7(), await newOwner()];
    const { now } = identity.clock;
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`
        INSERT INTO sso_domains (id, partner_id, org_id, domain, token, verified_at, last_checked_at, created_by, created_at)
        VALUES (${id}, ${owner.partnerId}, ${owner.orgId}, 'acme.example', 'token', ${now}, ${now}, ${id}, ${now})`),
    );
    let records: string[] | null = ["service-verify=token"];
    const lookups: string[] = [];
    const txt = async (name: string) => {
      lookups.push(name);
      if (records === null) throw new Error("no answer");
      return records;
    };
    const look = async () => {
      await recheckDomains({ ...deps, txt });
      const [row] = await identity.db.read<{ verified_at: Date | null; last_error: string | null }>(
        identity.system,
        sql`SELECT verified_at, last_error FROM sso_domains WHERE id = ${id}`,
      );
      expect(row?.verified_at).toEqual(now);
      return row?.last_error;
    };
    pass(dayMs - 1_000);
    await look();
    expect(lookups).toEqual([]);
    pass(2_000);
    expect([await look(), lookups]).toEqual([null, ["_service-verify.acme.example"]]);
    const said = [];
    for (const found of [[], ["other"], null, ["service-verify=token"]]) {
      records = found;
      pass(dayMs + 1_000);
      said.push(await look());
    }
    expect(said).toEqual([
      "There is no such TXT record",
      "The TXT record has another value",
      "The name servers did not answer",
      null,
    ]);
  });
});

describe("our next key for a SAML provider", () => {
  it("takes over when its grace period ends: sign-ins in flight go on, and it is audited once", async () => {
    const own = await provider([key]);
    const sealing = secretBox(`k1:${randomBytes(32).toString("base64")}`, secretPurposes.sso);
    const withSealing = { ...deps, sealing };
    const [present, next] = [
      { privateKey: "present", certificate: "present" },
      { privateKey: "next", certificate: "next" },
    ];
    const renew = async (fresh: typeof next, days: number) => {
      const row = await own.read();
      return identity.db.tx(identity.system, (tx) => renewKey(withSealing, tx, row, fresh, days));
    };
    await renew(present, 0);
    await renew(next, 3);
    const inFlight = await loginFlowOf(own);
    pass(3 * dayMs - 1_000);
    await endKeyGracePeriods(withSealing);
    expect(await own.read()).toMatchObject({
      saml_sp_certificate: "present",
      saml_next_certificate: "next",
    });
    pass(2_000);
    await endKeyGracePeriods(withSealing);
    await endKeyGracePeriods(withSealing);
    const row = await own.read();
    expect(row).toMatchObject({ saml_sp_certificate: "next", saml_next_certificate: null, saml_next_key_at: null });
    expect(sealing.open(row.saml_key_sealed as Buffer, samlKeyLocation(own.id)).toString()).toBe("next");
    expect(await inFlight()).toEqual(["goes on", "goes on"]);
    expect(await actionsOf(own)).toEqual(["sso.provider.keys.rotate"]);
  });
});

it("re-encryption knows every sealed column of the schema", async () => {
  const rows = await identity.db.read<{ name: string }>(
    identity.system,
    sql`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name LIKE '%_sealed'`,
  );
  const sealed = sealedColumns.map(({ table, column }) => `${table}.${column}`);
  expect(sealed).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
  expect(rows.map(({ name }) => name)).toContain("sso_providers.saml_next_key_sealed");
});
