import { useGet } from "../api/queries.ts";
import forms from "./field.module.css";
import { useWhyNot } from "./me.tsx";
import { chooseZone, useZone, zoneName } from "./zone.ts";

/** Chooses the zone of all times: the browser's, the partner's or UTC. */
export function ZoneChoice() {
  const why = useWhyNot("GET /api/v1/orgs/partners/me");
  const partner = useGet("/api/v1/orgs/partners/me", {}, { enabled: why === null, freshMs: 300_000 });
  const zone = useZone();
  const { timezone } = partner.data?.settings ?? {};
  const others = new Set(["UTC", ...(typeof timezone === "string" ? [timezone] : []), zone]);
  others.delete("browser");
  return (
    <label className={forms.inline}>
      Times are shown in{" "}
      <select value={zone} onChange={({ target }) => chooseZone(target.value)}>
        <option value="browser">this browser's zone ({zoneName("browser")})</option>
        {[...others].map((name) => (
          <option key={name} value={name}>
            {name === timezone ? `your partner's zone (${name})` : name}
          </option>
        ))}
      </select>
    </label>
  );
}
