type Refused = { answer: string; detail: string | null };

/** What the administrator of a directory changes there, so that a request like this one is accepted. */
export function directoryChange({ answer, detail }: Refused): string {
  const [, attribute] = /^A (?:User|Group) needs "([^"]+)"/.exec(detail ?? "") ?? [];
  if (attribute) return `Map an attribute to ${attribute}`;
  if (answer === "scim_uniqueness") return "Give one of the two another name or address";
  if (detail?.startsWith("No user of this directory")) return "Assign the members of its groups to the application";
  return "Correct what was sent";
}

/** What mends refused requests of a directory, as a sentence; `where` names the directory or its product. */
export function directoryRemedy(refused: readonly Refused[], where: string): string {
  const changes = [...new Set(refused.map(directoryChange))];
  const change =
    changes.length === 1 ? `${changes[0]} in ${where}` : `Make the ${changes.length} changes below in ${where}`;
  return `${change}, then let it provision again.`;
}
