/** A greeting by the hour of the day, 0 to 23, with the first of a user's names. */
export function greeting(name: string, hour: number): string {
  const [first = ""] = name.trim().split(/\s+/);
  const part = hour < 5 ? "evening" : hour < 12 ? "morning" : hour < 18 ? "afternoon" : "evening";
  return first === "" ? `Good ${part}` : `Good ${part}, ${first}`;
}

/** How many things need attention, as a sentence. */
export function needsSentence(count: number): string {
  if (count === 0) return "Nothing needs attention.";
  return `${count} ${count === 1 ? "thing needs" : "things need"} attention. Everything else is running.`;
}
