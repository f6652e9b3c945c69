import { z } from "zod";

/**
 * What a setting declares about others, next to its own bounds. Start, chart and docs/operations/settings.md read it.
 */
export type Coupling = {
  /** The setting of the same process that this one stays below. */
  below?: string;
  /** The setting of the same process that this one stays above. */
  above?: string;
  /** The setting of the same process that this one does not exceed. */
  atMost?: string;
  /** Every process that has this setting has the same value. Never on a secret: services report it to gateways. */
  shared?: true;
};

const orderNames = ["below", "above", "atMost"] as const satisfies (keyof Coupling)[];
type Order = (typeof orderNames)[number];

/** A setting with its coupling. */
export const coupled = <S extends z.ZodType>(setting: S, coupling: Coupling): S => setting.meta({ ...coupling });

const orders: Readonly<Record<Order, { words: string; holds: (own: number, other: number) => boolean }>> = {
  below: { words: "below", holds: (own, other) => own < other },
  above: { words: "above", holds: (own, other) => own > other },
  atMost: { words: "at most", holds: (own, other) => own <= other },
};

/** A sentence for each order that these values break: both settings, their values and the cure. */
export function orderErrors(shape: z.core.$ZodShape, values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(shape).flatMap(([name, setting]) =>
    orderNames.flatMap((order) => {
      const other = z.globalRegistry.get(setting)?.[order];
      if (typeof other !== "string") return [];
      const [own, limit] = [values[name], values[other]];
      if (typeof own !== "number" || typeof limit !== "number" || orders[order].holds(own, limit)) return [];
      const [up, down] = order === "above" ? [name, other] : [other, name];
      return [`${name} (${own}) must be ${orders[order].words} ${other} (${limit}): raise ${up} or lower ${down}`];
    }),
  );
}

/** Values of the settings that other processes must have, too, as text by name; those that are not set are left out. */
export function sharedValues(
  shape: z.core.$ZodShape,
  values: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const names = Object.keys(shape).filter((name) => {
    const setting = shape[name];
    return setting !== undefined && z.globalRegistry.get(setting)?.shared === true && values[name] !== undefined;
  });
  return Object.fromEntries(names.map((name) => [name, String(values[name])]));
}
