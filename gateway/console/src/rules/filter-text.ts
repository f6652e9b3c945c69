/** A time as short as it can be said: a day, or a minute of one. */
const timeText = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/, (_all, day, time) =>
    time === "00:00" ? day : `${day} ${time} UTC`,
  );

const valueText = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : timeText(String(value)));

/** Times stand last, the earlier one first. */
const rank = (name: string) => ["from", "to"].indexOf(name);

/** The filters of an export or a view, in words; the organization is named elsewhere. */
export const filterText = (filter: Readonly<Record<string, unknown>>): string =>
  Object.entries(filter)
    .filter(([name]) => name !== "orgId")
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(" · ") || "every row";
