// Webhooks and streams of the example fleet, which post to the receiver of screenshots.mjs.

/** Tests of one webhook that the service takes in a minute. */
const testsPerMinute = 10;

/** Name, customer, who made it, how its receiver answers, and its events. */
const webhooks = [
  ["Facilities", "Globex", "Kim Roe", "fast", ["device.offline"]],
  ["Stock display", "Globex", "Bo Chen", "fast", ["device.online"]],
  ["Data lake", "Globex", "Bo Chen", "fast", ["*"]],
  ["On-call pager", "Globex", "Kim Roe", "slow", ["device.offline"]],
  ["ERP sync", "Globex", "Bo Chen", "fails", ["device.online", "device.offline"]],
  ["Ticketing", "Globex", "Kim Roe", "fast", ["device.online", "device.offline"]],
  ["Data lake", "Initech", "Sam Ortiz", "fast", ["device.online", "device.offline"]],
  ["Pager", "Hooli", "Noor Haddad", "slow", ["device.online", "device.offline"]],
];

/** Webhooks with deliveries; one of them fails, and one is paused. */
export async function webhooksOf(call, orgs, users, hooks) {
  if (!hooks) return;
  for (const [name, customer, who, answer, events] of webhooks) {
    const { orgId } = orgs[customer];
    const { token } = users[who];
    const url = `${hooks}/${answer}/${name.toLowerCase().replace(" ", "-")}`;
    const wanted = { orgId, name, url, events };
    const made = await call("POST", "/webhooks", wanted, token).catch((error) => {
      process.stderr.write(`${error.message}\n`);
      return null;
    });
    if (!made) continue;
    for (let sent = 0; sent < testsPerMinute; sent++) await call("POST", `/webhooks/${made.id}/test`, {}, token);
    if (name === "Facilities") await call("PATCH", `/webhooks/${made.id}`, { status: "paused" }, token);
  }
}

/** Streams of the audit trail; one of them fails. */
export async function streamsOf(call, orgs, hooks) {
  if (!hooks) return;
  const { orgId } = orgs.Globex;
  for (const [name, path] of [
    ["Cold archive", "fails"],
    ["Security desk", "fast"],
    ["SIEM", "fast"],
  ]) {
    await call("POST", "/audit-logs/streams", { orgId, name, type: "webhook", url: `${hooks}/${path}/audit` });
  }
}
