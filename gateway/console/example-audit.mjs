// What people of the example fleet did in a fortnight, as rows of the audit trail. Services hand such rows to the
// sealer through their outboxes; so do the ones here, with the time that they had.
import { auditEvent } from "@muster/service";
import { idOf, percentOf } from "./example-fleet.mjs";
import { accountChanges, createdDays, regularOf, whoOf } from "./example-regular.mjs";

const [hourMs, dayMs] = [3_600_000, 86_400_000];

/** A fortnight's rows of the audit trail: they are sealed as if their services had recorded them then. */
export async function pastAudit(client, example) {
  for (const { service, who, fact, atMs } of [...pastSignIns(example), ...pastChanges(example)]) {
    const { subject, msgId, body } = auditEvent(service, who, fact, new Date(atMs));
    await client.query(
      `INSERT INTO ${service.replaceAll("-", "_")}.outbox (subject, msg_id, body) VALUES ($1, $2, $3)`,
      [subject, msgId, Buffer.from(body)],
    );
  }
}

const today = Math.floor(Date.now() / dayMs) * dayMs;
/** The evening with many refused sign-ins of one account, and where they came from. */
const burst = {
  day: 1,
  minute: 1_290,
  meta: { clientAddress: "198.51.100.7", userAgent: "python-requests/2.32" },
};

/** Sign-ins by day: fewer at weekends, some of them refused, and one evening with many of one account. */
function pastSignIns(example) {
  const { users, partnerId } = example;
  const regular = regularOf(example);
  return Array.from({ length: createdDays }, (_, at) => today - (at + 1) * dayMs).flatMap((day, at) => {
    const all = [...Object.values(users), ...(at < createdDays - 1 ? [regular] : [])];
    const isWeekend = [0, 6].includes(new Date(day).getUTCDay());
    const accepted = isWeekend ? 14 + (percentOf(`weekend ${at}`) % 8) : 58 + (percentOf(`weekday ${at}`) % 24);
    const refused = at === burst.day ? 27 : percentOf(`refused ${at}`) % 4;
    return Array.from({ length: accepted + refused }, (_each, index) => {
      const isRefused = index >= accepted;
      const isBurst = isRefused && at === burst.day;
      const user = isBurst ? regular : all[percentOf(`who ${at} ${index}`) % all.length];
      const minute = isBurst ? burst.minute + index / 10 : 420 + percentOf(`when ${at} ${index}`) * 6;
      const atMs = day + minute * 60_000;
      const { caller, meta } = whoOf(user, atMs);
      return {
        service: "identity",
        // A session begins with a sign-in that is accepted.
        who: { caller: isRefused ? { actor: caller.actor } : caller, meta: isBurst ? burst.meta : meta },
        atMs,
        fact: {
          action: isRefused ? "user.login.failed" : "user.login",
          resource: { type: "user", id: user.id, name: user.name },
          orgId: user.orgId,
          partnerId,
          ...(isRefused
            ? { result: "failure", errorMessage: "wrong password", details: { factor: "password" } }
            : { details: { mfa: user.hasFactor } }),
        },
      };
    });
  });
}

/** Hours ago, who, the service and action, and what it is about. */
const changes = [
  [3, "Kim Roe", "tenancy", "device_group.update", "device_group", "Tills", { name: ["Registers", "Tills"] }],
  [6, "Bo Chen", "identity", "api_key.rotate", "api_key", "Inventory"],
  [7, "Yuna Park", "tenancy", "device_group.update", "device_group", "Kitchen", { name: ["Kitchens", "Kitchen"] }],
  [9, "Yuna Park", "identity", "enrollment_key.revoke", "enrollment_key", "Sapporo tills"],
  [19, "Kim Roe", "tenancy", "site.update", "site", "Osaka", { timezone: ["Europe/Berlin", "Asia/Tokyo"] }],
  [22, "Bo Chen", "webhook-dispatcher", "webhook.rotate_secret", "webhook", "ERP sync"],
  [26, "Yuna Park", "webhook-dispatcher", "webhook.update", "webhook", "Shipping", { ordered: [false, true] }],
  [28, "Kim Roe", "identity", "role.update", "role", "Night shift", { permissions: ["devices:read", "audit:read"] }],
  [44, "Bo Chen", "tenancy", "device.update", "device", "osa-pos-01", { autoUpdateEnabled: [false, true] }],
  [46, "Kim Roe", "tenancy", "device.update", "device", "osa-pos-01", { autoUpdateEnabled: [true, false] }],
  [50, "Bo Chen", "identity", "enrollment_key.create", "enrollment_key", "Osaka tills"],
  [53, "Yuna Park", "tenancy", "site.update", "site", "Sapporo", { timezone: ["Etc/UTC", "Asia/Tokyo"] }],
  [54, "Yuna Park", "tenancy", "site.create", "site", "Sapporo"],
  [71, "Kim Roe", "webhook-dispatcher", "webhook.update", "webhook", "Ticketing", { ordered: [false, true] }],
  [95, "Kim Roe", "identity", "user.invite", "user", "Ren Sato"],
  [98, "Yuna Park", "tenancy", "device_group.create", "device_group", "Self-checkouts"],
  [121, "Yuna Park", "identity", "api_key.create", "api_key", "Price labels"],
  [140, "Bo Chen", "identity", "api_key.create", "api_key", "ci-deploy"],
  [190, "Kim Roe", "tenancy", "saved_view.create", "saved_view", "Offline tills"],
  [260, "Bo Chen", "tenancy", "site.create", "site", "Tokyo"],
];

function pastChanges(example) {
  const { orgId, users, partnerId, deviceId } = example;
  const regular = regularOf(example);
  const byName = { ...users, [regular.name]: regular };
  const burstMs = today - (burst.day + 1) * dayMs + burst.minute * 60_000;
  const ofAccount = accountChanges(example, burstMs).map(({ atMs, by, action, details, of }) => {
    const resource = { type: "user", id: of.id, name: of.name };
    return { service: "identity", who: whoOf(by, atMs), fact: { action, resource, orgId, partnerId, details }, atMs };
  });
  const ofRecords = changes.map(([hoursAgo, who, service, action, type, name, changed = {}]) => {
    const half = (at) => Object.fromEntries(Object.entries(changed).map(([field, values]) => [field, values[at]]));
    const details = Object.keys(changed).length > 0 ? { changes: { before: half(0), after: half(1) } } : {};
    const resource = { type, id: type === "device" ? deviceId : idOf(`${type} ${name}`), name };
    const atMs = Date.now() - hoursAgo * hourMs - percentOf(action) * 30_000;
    const fact = { action, resource, orgId, partnerId, details };
    return { service, who: whoOf(byName[who], atMs), fact, atMs };
  });
  return [...ofAccount, ...ofRecords];
}
