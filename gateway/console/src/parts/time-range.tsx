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

/** A time as filters `from` and `to` of the address: a preset, or days of the zone that times are shown in. */
export function TimeRange() {
  const [{ from, to }, change] = useFilters();
  const zone = zoneName(useZone());
  const choose = (hours: string) =>
    change({
      from: hours === "" ? undefined : new Date(Date.now() - Number(hours) * hourMs).toISOString(),
      to: undefined,
    });
  return (
    <>
      <label className={styles.choice}>
        <span>Time</span>
        <select value="" onChange={({ target }) => choose(target.value)}>
          <option value="">{from || to ? "chosen; any time" : "any time"}</option>
          {presets.map(([hours, title]) => (
            <option key={hours} value={hours}>
              {title}
            </option>
          ))}
        </select>
      </label>
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
      {from || to ? (
        <button type="button" className={styles.chip} onClick={() => change({ from: undefined, to: undefined })}>
          {zone}: any time instead
        </button>
      ) : null}
    </>
  );
}
