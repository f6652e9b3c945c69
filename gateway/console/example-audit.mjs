// What people of the example fleet did in a fortnight, as rows of the audit trail. Services hand such rows to the
// sealer through their outboxes; so do the ones here, with the time that they had.
import { createHash } from "node:crypto";
import { auditEvent } from "@muster/service";
import { percentOf } from "./example-fleet.mjs";

const [hourMs, dayMs, pastDays] = [3_600_000, 86_400_000, 13];

/** A fortnight's rows of the audit trail: they are sealed as if their services had recorded them then. */
export async function pastAudit(client, example) {
  const { partnerId, users } = example;
  for (const { service, who, fact, atMs } of [...pastSignIns(users, partnerId), ...pastChanges(example)]) {
    const { subject, msgId, body } = auditEvent(service, who, fact, new Date(atMs));
    await client.query(
      `INSERT INTO ${service.replaceAll("-", "_")}.outbox (subject, msg_id, body) VALUES ($1, $2, $3)`,
      [subject, msgId, Buffer.from(body)],
    );
  }
}

const meta = { clientAddress: "203.0.113.24", userAgent: "Mozilla/5.0" };
const whoOf = ({ id, name, email }) => ({ caller: { actor: { type: "user", id, name, email } }, meta });

/** Sign-ins by day: fewer at weekends, some of them refused, and one evening with many of one account. */
function pastSignIns(users, partnerId) {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  return Array.from({ length: pastDays }, (_, at) => today - (at + 1) * dayMs).flatMap((day, at) => {
    const isWeekend = [0, 6].includes(new Date(day).getUTCDay());
    const accepted = isWeekend ? 14 + (percentOf(`weekend ${at}`) % 8) : 58 + (percentOf(`weekday ${at}`) % 24);
    const refused = at === 1 ? 27 : percentOf(`refused ${at}`) % 4;
    return Array.from({ length: accepted + refused }, (_each, index) => {
      const isRefused = index >= accepted;
      const all = Object.values(users);
      const user = isRefused && at === 1 ? all[1] : all[percentOf(`who ${at} ${index}`) % all.length];
      const minute = isRefused && at === 1 ? 1_290 + index / 10 : 420 + percentOf(`when ${at} ${index}`) * 6;
      return {
        service: "identity",
        who: whoOf(user),
        atMs: day + minute * 60_000,
        fact: {
          action: isRefused ? "user.login.failed" : "user.login",
          resource: { type: "user", id: user.id, name: user.name },
          orgId: user.orgId,
          partnerId,
          ...(isRefused ? { result: "failure", errorMessage: "E-mail or password is wrong" } : {}),
        },
      };
    });
  });
}

/** Hours ago, who, the service and action, and what it is about. */
const changes = [
  [3, "Kim Roe", "tenancy", "device_group.update", "device_group", "Tills", { name: ["Registers", "Tills"] }],
  [6, "Bo Chen", "identity", "api_key.rotate", "api_key", "Inventory"],
  [19, "Kim Roe", "tenancy", "site.update", "site", "Osaka", { timezone: ["Europe/Berlin", "Asia/Tokyo"] }],
  [22, "Bo Chen", "webhook-dispatcher", "webhook.rotate_secret", "webhook", "ERP sync"],
  [28, "Kim Roe", "identity", "role.update", "role", "Night shift", { permissions: ["devices:read", "audit:read"] }],
  [44, "Bo Chen", "tenancy", "device.update", "device", "osa-pos-01", { autoUpdateEnabled: [false, true] }],
  [46, "Kim Roe", "tenancy", "device.update", "device", "osa-pos-01", { autoUpdateEnabled: [true, false] }],
  [50, "Bo Chen", "identity", "enrollment_key.create", "enrollment_key", "Osaka tills"],
  [71, "Kim Roe", "webhook-dispatcher", "webhook.update", "webhook", "Ticketing", { ordered: [false, true] }],
  [95, "Kim Roe", "identity", "user.invite", "user", "Ren Sato"],
  [140, "Bo Chen", "identity", "api_key.create", "api_key", "ci-deploy"],
  [190, "Kim Roe", "tenancy", "saved_view.create", "saved_view", "Offline tills"],
  [260, "Bo Chen", "tenancy", "site.create", "site", "Tokyo"],
];

function pastChanges({ orgs, users, partnerId, deviceId }) {
  const { orgId } = orgs.Globex;
  return changes.map(([hoursAgo, who, service, action, type, name, changed = {}]) => {
    const half = (at) => Object.fromEntries(Object.entries(changed).map(([field, values]) => [field, values[at]]));
    const details = Object.keys(changed).length > 0 ? { changes: { before: half(0), after: half(1) } } : {};
    const resource = { type, id: type === "device" ? deviceId : idOf(`${type} ${name}`), name };
    const atMs = Date.now() - hoursAgo * hourMs - percentOf(action) * 30_000;
    return { service, who: whoOf(users[who]), fact: { action, resource, orgId, partnerId, details }, atMs };
  });
}

/** A UUID that belongs to a text. */
const idOf = (text) =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");
