// A user of the example fleet who has worked there for days. Accounts that the example creates through the API have a
// row of their creation in the audit trail, minutes old; this one has a past that its account and the trail agree on.
import { idOf, percentOf } from "./example-fleet.mjs";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
/** Days since it was created: the days of the past that the trail has. */
export const createdDays = 13;
const signedInHours = 2;

/** The name of the user who has been there for days. */
export const longThere = "Yuna Park";

/** Who it is, as the users of the example are: at the customer whose pages are shown. */
export const regularOf = ({ orgId }) => ({
  id: idOf(`regular ${orgId}`),
  name: longThere,
  email: "yuna.park@globex.example",
  role: "Technician",
  hasFactor: true,
  orgId,
});

/** The account: as that of a colleague with the same role. */
export async function insertRegular(client, { orgId, users }) {
  const { id, name, email } = regularOf({ orgId });
  await client.query(
    `INSERT INTO identity.users (id, email, name, department, scope, partner_id, org_id, role_id, org_access, password_hash, status,
       last_login_at, created_at, updated_at, mfa_enabled, site_restricted, email_proof)
     SELECT $1, $2, $3, 'Store support', scope, partner_id, org_id, role_id, org_access, password_hash, status,
       $4, $5, $5, true, site_restricted, email_proof
     FROM identity.users WHERE id = $6`,
    [id, email, name, new Date(lastSignInMs()), new Date(createdMs()), users["Kim Roe"].id],
  );
}

const createdMs = () => Date.now() - createdDays * dayMs;
const lastSignInMs = () => Date.now() - signedInHours * hourMs;

/** When, by whom and what was done to the account; in the night of many refused sign-ins its sessions were ended. */
export function accountChanges({ orgId, users }, burstMs) {
  const regular = regularOf({ orgId });
  const admin = users["Hana Mori"];
  const later = (minutes) => createdMs() + minutes * minuteMs;
  const granted = { changes: { before: { role: "Night shift" }, after: { role: regular.role } } };
  return [
    [createdMs(), admin, "user.create", {}],
    [later(95), regular, "user.invite.accept", {}],
    [later(97), regular, "user.mfa.enable", { factor: "totp" }],
    [later(5 * 24 * 60), admin, "user.permission.change", granted],
    [burstMs + 41 * minuteMs, admin, "user.sessions.end", { ended: 2 }],
    [burstMs + 44 * minuteMs, regular, "user.password.change", {}],
    [lastSignInMs(), regular, "user.login", { mfa: true }],
  ].map(([atMs, by, action, details]) => ({ atMs, by, action, details, of: regular }));
}

const browsers = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 (KHTML, like Gecko) Version/26.0 Safari/605.1",
  "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36 Edg/141.0",
];
const phone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Safari/604.1";

/** Where somebody sits at an instant, and with which client: at a desk, sometimes on a phone elsewhere. */
function metaOf({ name }, atMs) {
  const day = Math.floor(atMs / dayMs);
  if (percentOf(`phone ${name} ${day}`) < 20) return { clientAddress: "198.51.100.88", userAgent: phone };
  const desk = percentOf(`desk ${name}`);
  return { clientAddress: `203.0.113.${20 + desk}`, userAgent: browsers[desk % browsers.length] };
}

/** Who acts, in the session of that day. */
export const whoOf = (user, atMs) => ({
  caller: {
    actor: { type: "user", id: user.id, name: user.name, email: user.email, role: user.role },
    sessionId: idOf(`session ${user.id} ${Math.floor(atMs / dayMs)}`),
  },
  meta: metaOf(user, atMs),
});
