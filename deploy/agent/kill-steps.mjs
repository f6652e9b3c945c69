/**
 * Steps of an update in the order of `src/install/update-state.ts`, with the points that belong to each: process, call,
 * and what the call is about, in brackets the step that is stored or about to be.
 */
export const updateSteps = [
  ["download", /^run (mkdir unverified|open part|write part)/],
  ["proof", /^run (unpack|read|chmod|open|start) muster-agent/],
  ["name", /^run ((open|rename|rm) release\.json|rm part|(chmod|open) unverified|rename version)/],
  ["swapping stored", /^run (open update\.json|rename update\.json \(swapping\))$/],
  ["previous link", /^\w+ (symlink|rename) previous\b/],
  ["current link", /^\w+ (symlink|rename) current \(swapping\)/],
  ["proving stored", /^\w+ (open update\.json \(swapping\)|rename update\.json \(proving\))/],
  ["restart", /^(supervise start agent|run link agent\.lock)/],
  ["heartbeat noted", /^run (open|rename) alive\.json/],
  ["counter stored", /^run (open|rename) identity\.json \(proving\)/],
  ["update's end", /^run rm update\.json \(proving\)/],
  ["old versions", /^run rm version/],
  ["restoring stored", /^supervise (open update\.json \(proving\)|rename update\.json \(restoring\))/],
  ["link back", /^supervise (symlink|rename) current \(restoring\)/],
  ["rolled back stored", /^supervise (open update\.json \(restoring\)|rename update\.json \(rolledBack\))/],
  ["rollback's end", /^run rm update\.json \(rolledBack\)/],
  ["watchdog's links", /^run (symlink|rename) watchdog(-previous)? \(swapping\)/],
  ["watchdog's exchange", /^(run signal watchdog|supervise (link watchdog\.lock|(open|rename) watchdog\.json))/],
];

/** Steps of an installation, with the uses of tools that belong to each: the tool, and its last argument. */
export const installerSteps = [
  ["download's folder", /^(find|mktemp|chmod \.muster-agent)/],
  ["manifest, file", /^(curl|gunzip|chmod program$)/],
  ["folders", /^(mkdir prefix|chmod state)/],
  ["version placed", /^(mkdir|cp|chmod|sync|(rm|mv) \d)/],
  ["links", /^(rm update\.json|(rm|ln) \.(current|watchdog)\.new|mv (current|watchdog)$)/],
  ["config", /^(mv|rm) config\.json/],
  ["ids, key", /^(rm|mv) (machine\.json|enrollment\.key|identity\.json)/],
  ["start, end", /^rm (status\.json|\.muster-agent)/],
];

/** The step that a point belongs to; null when it is none of a step's. */
export const stepOf = (steps, point) => steps.find(([, form]) => form.test(point))?.[0] ?? null;

/** How many of these points belong to each step: steps without one have 0. */
export function countsOf(steps, points) {
  const counts = Object.fromEntries(steps.map(([name]) => [name, 0]));
  for (const point of points) {
    const step = stepOf(steps, point);
    if (step !== null) counts[step]++;
  }
  return counts;
}
