// node policy.mjs PKIDIR: enforces NetworkPolicies on the one node. Every second it reads pods, namespaces and policies
// from the API and, where something changed, lays one nft table: pod-to-pod traffic is routed (the ptp plugin), so the
// forward hook sees all of it, after kube-proxy's DNAT. Refused connections are reset at once. Traffic from the node
// itself (probes) is not held, as everywhere.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { join } from "node:path";

const pki = (name) => readFileSync(join(process.argv[2], name));
const agent = new Agent({ keepAlive: true, ca: pki("ca.crt"), cert: pki("admin.crt"), key: pki("admin.key") });
const list = (path) =>
  new Promise((done, fail) => {
    get({ host: "127.0.0.1", port: 6443, path, agent }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => (response.statusCode === 200 ? done(JSON.parse(body).items) : fail(new Error(body))));
    }).on("error", fail);
  });

const matches = (selector, labels = {}) =>
  Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
  (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    if (operator === "Exists") return key in labels;
    if (operator === "DoesNotExist") return !(key in labels);
    return values.includes(labels[key]) === (operator === "In");
  });

const render = (pods, namespaces, policies) => {
  const space = Object.fromEntries(namespaces.map(({ metadata }) => [metadata.name, metadata.labels]));
  const peerPods = (peer, home) =>
    pods.filter(
      ({ metadata }) =>
        (peer.namespaceSelector
          ? matches(peer.namespaceSelector, space[metadata.namespace])
          : metadata.namespace === home) && matches(peer.podSelector ?? {}, metadata.labels),
    );
  const portMatch = ({ protocol = "TCP", port, endPort }, target) => {
    const name = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${name}`];
    if (typeof port === "number") return [`${name} dport ${endPort ? `${port}-${endPort}` : port}`];
    return target.spec.containers
      .flatMap(({ ports = [] }) => ports)
      .filter((each) => each.name === port && (each.protocol ?? "TCP") === protocol)
      .map((each) => `${name} dport ${each.containerPort}`);
  };
  const lines = (pod, policy, rule, inbound) => {
    const side = inbound ? "ip saddr" : "ip daddr";
    const named = (inbound ? rule.from : rule.to) ?? [];
    // This cluster has IPv4 alone; a rule with nothing but IPv6 peers admits no connection.
    const peers = named.filter(({ ipBlock }) => !ipBlock?.cidr.includes(":"));
    const ends = peers.flatMap((peer) =>
      peer.ipBlock
        ? [
            {
              address:
                `${side} ${peer.ipBlock.cidr}` +
                (peer.ipBlock.except?.length ? ` ${side} != { ${peer.ipBlock.except.join(", ")} }` : ""),
              targets: inbound ? [pod] : pods,
            },
          ]
        : peerPods(peer, policy.metadata.namespace).map((other) => ({
            address: `${side} ${other.status.podIP}`,
            targets: [inbound ? pod : other],
          })),
    );
    if (named.length === 0) ends.push({ address: "", targets: inbound ? [pod] : pods });
    return ends.flatMap(({ address, targets }) =>
      rule.ports?.length
        ? [...new Set(rule.ports.flatMap((port) => targets.flatMap((target) => portMatch(port, target))))].map(
            (port) => `${address} ${port} return`,
          )
        : [`${address} return`],
    );
  };
  const chains = [];
  const jumps = [];
  const toNode = [];
  for (const [index, pod] of pods.entries()) {
    for (const inbound of [false, true]) {
      const type = inbound ? "Ingress" : "Egress";
      const mine = policies.filter(
        ({ metadata, spec }) =>
          metadata.namespace === pod.metadata.namespace &&
          matches(spec.podSelector, pod.metadata.labels) &&
          (spec.policyTypes ?? ["Ingress", ...(spec.egress ? ["Egress"] : [])]).includes(type),
      );
      if (mine.length === 0) continue;
      const rules = mine.flatMap((policy) =>
        ((inbound ? policy.spec.ingress : policy.spec.egress) ?? []).flatMap((rule) =>
          lines(pod, policy, rule, inbound),
        ),
      );
      const name = `${inbound ? "in" : "out"}_${index}`;
      chains.push(
        `  chain ${name} {\n${[...new Set(rules), "counter goto refuse"].map((rule) => `    ${rule}`).join("\n")}\n  }`,
      );
      jumps.push(`    ip ${inbound ? "daddr" : "saddr"} ${pod.status.podIP} jump ${name}`);
      // Servers outside of the cluster (PostgreSQL, NATS, the internet) are addresses of the node.
      if (!inbound) toNode.push(jumps.at(-1));
    }
  }
  return `table ip netpol\ndelete table ip netpol\ntable ip netpol {
  chain refuse {\n    meta l4proto tcp reject with tcp reset\n    reject with icmp type admin-prohibited\n  }
${chains.join("\n")}
  chain forward {\n    type filter hook forward priority filter; policy accept;\n    ct state established,related accept\n${jumps.join("\n")}\n  }
  chain input {\n    type filter hook input priority filter; policy accept;\n    ct state established,related accept\n${toNode.join("\n")}\n  }\n}\n`;
};

let laid = "";
for (;;) {
  try {
    const [pods, namespaces, policies] = await Promise.all(
      ["/api/v1/pods", "/api/v1/namespaces", "/apis/networking.k8s.io/v1/networkpolicies"].map((path) => list(path)),
    );
    const wanted = render(
      pods.filter(
        ({ spec, status }) => status.podIP && !spec.hostNetwork && !["Succeeded", "Failed"].includes(status.phase),
      ),
      namespaces,
      policies,
    );
    if (wanted !== laid) {
      execFileSync("nft", ["-f", "-"], { input: wanted });
      laid = wanted;
      console.log(`${new Date().toISOString()} ${policies.length} policies over ${pods.length} pods`);
    }
  } catch (error) {
    console.error(error.message);
  }
  await new Promise((done) => setTimeout(done, 1000));
}
