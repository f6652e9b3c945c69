import { useState } from "react";
import { endOfDay, startOfDay, zonedDay } from "../rules/zoned-days.ts";
import styles from "./filter-bar.module.css";
import { useFilters } from "./use-filters.ts";
import { useZone, zoneName } from "./zone.ts";

const hourMs = 3_600_000;
const presets = [
  ["1", "last hour"],
  ["24", "last 24 h"],
  ["168", "last 7 days"],
  ["720", "last 30 days"],
] as const;

/**
 * A time as filters `from` and `to` of the address: a preset, or days of the zone that times are shown in. `none` is
 * what no choice means.
 */
export function TimeRange({ none = "any time" }: { none?: string }) {
  const [{ from, to }, change] = useFilters();
  const zone = zoneName(useZone());
  const [isDays, setDays] = useState(false);
  const choose = (hours: string) => {
    setDays(hours === "days");
    if (hours === "days") return;
    change({
      from: hours === "" ? undefined : new Date(Date.now() - Number(hours) * hourMs).toISOString(),
      to: undefined,
    });
  };
  const areDaysShown = isDays || Boolean(from ?? to);
  return (
    <>
      <label className={styles.choice}>
        <span>Time</span>
        <select value={areDaysShown ? "days" : ""} onChange={({ target }) => choose(target.value)}>
          <option value="">{none}</option>
          {presets
            .filter(([, title]) => title !== none)
            .map(([hours, title]) => (
              <option key={hours} value={hours}>
                {title}
              </option>
            ))}
          <option value="days">from … to …</option>
        </select>
      </label>
      {areDaysShown ? <Days from={from} to={to} zone={zone} change={change} /> : null}
    </>
  );
}

type DaysProps = {
  from: string | undefined;
  to: string | undefined;
  zone: string;
  change(wanted: { from?: string | undefined; to?: string | undefined }): void;
};

/** The first and the last day; the zone whose days they are stands beside them. */
function Days({ from, to, zone, change }: DaysProps) {
  return (
    <>
      <label className={styles.choice} data-tip={`Days of ${zone}`}>
        <span>From</span>
        <input
          type="date"
          value={from ? zonedDay(from, zone) : ""}
          onChange={({ target: { value } }) =>
            change({ from: value === "" ? undefined : startOfDay(value, zone).toISOString() })
          }
        />
      </label>
      <label className={styles.choice} data-tip={`Days of ${zone}`}>
        <span>To</span>
        <input
          type="date"
          value={to ? zonedDay(to, zone) : ""}
          onChange={({ target: { value } }) =>
            change({ to: value === "" ? undefined : endOfDay(value, zone).toISOString() })
          }
        />
      </label>
      <span className="soft">{zone}</span>
    </>
  );
}
