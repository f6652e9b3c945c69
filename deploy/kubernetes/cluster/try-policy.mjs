import { kubectl, must, say, until, workloads } from "./client.mjs";

const rpc = ["identity", "tenancy", "audit", "device-logs", "webhook-dispatcher", "agent-release"];
const mayCall = {
  gateway: rpc,
  identity: ["tenancy"],
  tenancy: [],
  audit: ["identity", "tenancy", "webhook-dispatcher"],
  "audit-retention": [],
  "device-logs": ["tenancy"],
  "webhook-matcher": ["identity", "tenancy"],
  "webhook-sender": ["identity", "tenancy"],
  "agent-release": ["identity", "tenancy"],
};
const internet = ["identity", "webhook-matcher", "webhook-sender", "agent-release"];

/** Runs inside a pod: which of the given addresses take a connection. */
const probe = `const net = require("net");
Promise.all(JSON.parse(process.argv[1]).map(([host, port]) => new Promise((done) => {
  const socket = net.connect({ host, port: Number(port), timeout: 1500 });
  const end = (answer) => { socket.destroy(); done(answer); };
  socket.on("connect", () => end(true)).on("error", () => end(false)).on("timeout", () => end(false));
}))).then((all) => console.log(JSON.stringify(all)));`;

async function reachable(pod, namespace, targets) {
  const args = ["exec", "-n", namespace, pod, "--", "node", "-e", probe, JSON.stringify(targets.map(({ at }) => at))];
  return JSON.parse(await kubectl(...args));
}

/**
 * The table of allowed connections, tried from a pod of each workload, from a pod outside of the release and from
 * the monitoring namespace.
 */
export async function policy() {
  const net = await import("node:net");
  const servers = [];
  for (const [port, host] of [
    [9901, "203.0.113.9"],
    [9901, "10.199.0.1"],
  ]) {
    servers.push(net.createServer((socket) => socket.destroy()).listen(port, host));
  }
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items.filter(
    ({ metadata }) => !metadata.deletionTimestamp,
  );
  const podOf = (name) => pods.find(({ metadata }) => metadata.labels["app.kubernetes.io/component"] === name);
  const targets = [
    ...rpc.map((name) => ({ name, at: [`muster-${name}`, 8080] })),
    { name: "postgres", at: ["10.199.0.1", 5432] },
    { name: "nats", at: ["10.199.0.1", 4222] },
    { name: "the internet", at: ["203.0.113.9", 9901] },
    { name: "a private address", at: ["10.199.0.1", 9901] },
    { name: "cloud metadata", at: ["169.254.169.254", 80] },
    { name: "the API server", at: ["10.96.0.1", 443] },
    { name: "ops of tenancy", at: [podOf("tenancy").status.podIP, 9090] },
  ];
  let tried = 0;
  for (const source of workloads) {
    const expected = targets.map(({ name }) => {
      if (rpc.includes(name)) return mayCall[source].includes(name);
      if (name === "postgres") return source !== "gateway";
      if (name === "nats") return source !== "audit-retention";
      return name === "the internet" && internet.includes(source);
    });
    const got = await reachable(podOf(source).metadata.name, "muster", targets);
    for (const [index, { name }] of targets.entries()) {
      // A pod reaches itself through its own Service or not: kube-proxy's hairpin, not a policy.
      const itself = [podOf(source).metadata.labels["muster.dev/service"], `ops of ${source}`].includes(name);
      if (!itself)
        must(got[index] === expected[index], `${source} ${expected[index] ? "reaches" : "is kept from"} ${name}`);
      tried += 1;
    }
  }
  const outside = [
    { name: "the gateway", at: ["muster-gateway.muster", 80] },
    { name: "identity", at: ["muster-identity.muster", 8080] },
    { name: "ops of tenancy", at: [podOf("tenancy").status.podIP, 9090] },
  ];
  for (const [namespace, expected] of [
    ["stranger", [true, false, false]],
    ["monitoring", [true, false, true]],
  ]) {
    await kubectl("create", "namespace", namespace).catch(() => undefined);
    const overrides = {
      spec: {
        containers: [
          {
            name: "probe",
            image: "localhost/muster/tenancy:trial",
            imagePullPolicy: "Never",
            command: ["node", "-e", "setInterval(() => {}, 1000)"],
          },
        ],
      },
    };
    await kubectl(
      "run",
      "probe",
      "-n",
      namespace,
      "--image=localhost/muster/tenancy:trial",
      `--overrides=${JSON.stringify(overrides)}`,
    );
    await kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/probe", "--timeout=60s");
    await until(
      `${namespace} sees what it may`,
      async () => {
        const got = await reachable("probe", namespace, outside);
        must(
          JSON.stringify(got) === JSON.stringify(expected),
          `${namespace}: ${JSON.stringify(got)} is ${JSON.stringify(expected)}`,
        );
        return true;
      },
      15_000,
    );
    tried += outside.length;
    await kubectl("delete", "namespace", namespace, "--wait=false");
  }
  for (const server of servers) server.close();
  say(`network policies: ${tried} connections are allowed or refused as the table says`);
}
