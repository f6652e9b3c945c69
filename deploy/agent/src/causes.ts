import { exitCodes } from "./exit-codes.ts";

/** Why a request to the platform failed: what it is, what ends it, and the exit code of a command that ends with it. */
export type Cause = { text: string; cure: string; exitCode: number };

const newKey = "run `muster-agent enroll` with a new key";
const enrollAgain = "run `muster-agent enroll`";
const wait = "nothing: it is tried again";

const byCode: Readonly<Record<string, Cause>> = {
  enrollment_key_invalid: { text: "the enrollment key is wrong", cure: newKey, exitCode: exitCodes.keyRefused },
  enrollment_key_expired: { text: "the enrollment key has expired", cure: newKey, exitCode: exitCodes.keyRefused },
  enrollment_key_exhausted: { text: "the enrollment key was used up", cure: newKey, exitCode: exitCodes.keyRefused },
  no_enrollment_key: { text: "this machine is not enrolled", cure: enrollAgain, exitCode: exitCodes.keyRefused },
  agent_token_invalid: {
    text: "the platform no longer knows this device",
    cure: enrollAgain,
    exitCode: exitCodes.credentialLost,
  },
  agent_token_revoked: {
    text: "the token of this device was revoked",
    cure: enrollAgain,
    exitCode: exitCodes.credentialLost,
  },
  agent_not_found: {
    text: "the platform no longer knows this device",
    cure: enrollAgain,
    exitCode: exitCodes.credentialLost,
  },
  organization_inactive: { text: "the organization is not active", cure: wait, exitCode: exitCodes.platformFails },
  partner_inactive: { text: "the partner is not active", cure: wait, exitCode: exitCodes.platformFails },
  limit_reached: {
    text: "the organization has as many devices as it may have",
    cure: "decommission one, or have the limit raised",
    exitCode: exitCodes.platformFails,
  },
};

/**
 * The cause of a failed request by its name: an error code of the platform, `status 500`, or a code of Node such as
 * ECONNREFUSED.
 */
export function causeOf(name: string): Cause {
  const named = byCode[name];
  if (named) return named;
  const status = Number(/^(?:status )?(\d{3})$/.exec(name)?.[1]);
  if (status >= 300 && status < 400) {
    const cure = `name the address to which it leads as "url": a token is sent to no other`;
    return { text: `the platform's address answers ${status}, a redirect`, cure, exitCode: exitCodes.notPlatform };
  }
  if (status >= 500 || status === 429 || status === 408) {
    return { text: `the platform answers ${status}`, cure: wait, exitCode: exitCodes.platformFails };
  }
  if (status > 0) {
    return {
      text: `the platform's address answers ${status}`,
      cure: `correct the "url": another server is there`,
      exitCode: exitCodes.notPlatform,
    };
  }
  if (isCertificate(name)) {
    return {
      text: `the certificate of the platform is not trusted (${name})`,
      cure: certificateCure(name),
      exitCode: exitCodes.certificate,
    };
  }
  if (/^[A-Z_]+$/.test(name) || name === "no_answer") {
    return {
      text: `the platform does not answer (${name})`,
      cure: "look at network, firewall and proxy: HTTPS_PROXY names one",
      exitCode: exitCodes.unreachable,
    };
  }
  return { text: `the platform refuses this device (${name})`, cure: wait, exitCode: exitCodes.platformFails };
}

/** Whether two failures of requests have one cause: a server that is away fails in several ways. */
export function isSameCause(before: string | null, now: string): boolean {
  if (before === null || before === now) return before === now;
  const [a, b] = [causeOf(before), causeOf(now)];
  return a.exitCode === b.exitCode && a.exitCode === exitCodes.unreachable;
}

const isCertificate = (code: string): boolean => /CERT|SIGNED|ISSUER|SIGNATURE/.test(code);

function certificateCure(code: string): string {
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return "set the clock of this machine, or renew the certificate of the platform";
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `correct the "url": the certificate is for another name`;
  return `name the certificate of the platform's authority in "caFile"`;
}
