import { messageOf, onLeftByNpm } from "@muster/kit";
import { startFleet } from "./fleet.ts";
import { readOptions, type SimOptions, usage } from "./options.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);

let options: SimOptions | "help";
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n\n${usage}\n`);
  process.exit(2);
}
if (options === "help") {
  say(usage);
  process.exit(0);
}

const fleet = startFleet(options);
say(
  `${options.count} simulated agent${options.count === 1 ? "" : "s"} against ${options.url}, identities in ${options.stateFile}`,
);

const print = () => {
  const states = Object.entries(fleet.states()).filter(([, value]) => value > 0);
  say(fleet.figures.line(Object.fromEntries(states)));
};
const printing = setInterval(print, options.figuresSeconds * 1000);

let announced = false;
const announcing = setInterval(() => {
  const first = fleet.agents.find(({ state }) => state === "online" || state === "quarantined");
  if (announced || !first) return;
  announced = true;
  clearInterval(announcing);
  say(`${first.identity.hostname} is ${first.state}: device ${first.identity.agentId}`);
}, 100);

const stop = new Promise<void>((resolve) => {
  process.once("SIGINT", () => resolve());
  process.once("SIGTERM", () => resolve());
  onLeftByNpm("agent-sim", resolve);
  if (options.durationSeconds !== null) setTimeout(resolve, options.durationSeconds * 1000).unref();
});
await Promise.race([stop, fleet.ended]);
clearInterval(printing);
clearInterval(announcing);
print();
const refused = fleet.agents.filter(({ state }) => state === "ended");
await fleet.stop();
if (refused.length === fleet.agents.length) {
  process.stderr.write(`no agent could stay: ${[...new Set(refused.map(({ reason }) => reason))].join(", ")}\n`);
  process.exitCode = 1;
}
