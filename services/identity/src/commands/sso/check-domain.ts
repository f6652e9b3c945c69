import { randomBytes } from "node:crypto";
import type { TxtRecords } from "../../clients/sso/txt-records.ts";

/** The TXT record that shows a domain to be its owner's. */
export const recordName = (domain: string) => `_service-verify.${domain}`;
export const recordValue = (token: string) => `service-verify=${token}`;
export const newDomainToken = () => randomBytes(20).toString("hex");

/** Null when the record exists, else why the domain is not verified. */
export async function domainError(txt: TxtRecords, domain: string, token: string): Promise<string | null> {
  try {
    const records = await txt(recordName(domain));
    if (records.some((record) => record.trim() === recordValue(token))) return null;
    return records.length === 0 ? "There is no such TXT record" : "The TXT record has another value";
  } catch {
    return "The name servers did not answer";
  }
}
