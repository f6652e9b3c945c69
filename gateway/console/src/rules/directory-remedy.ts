type Refused = { answer: string; detail: string | null };

/** What the administrator of a directory changes there, so that a request like this one is accepted, as a sentence. */
export function directoryRemedy({ answer, detail }: Refused): string {
  const [, attribute] = /^A (?:User|Group) needs "([^"]+)"/.exec(detail ?? "") ?? [];
  return `${changeOf({ answer, detail }, attribute)} in the directory, then let it provision again.`;
}

function changeOf({ answer, detail }: Refused, attribute: string | undefined): string {
  if (attribute) return `Map an attribute to ${attribute}`;
  if (answer === "scim_uniqueness") return "Give one of the two another name or address";
  if (detail?.startsWith("No user of this directory")) return "Assign the members of its groups to the application";
  return "Correct what was sent";
}
