import { useState } from "react";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { areSingleKeysOn, setSingleKeys } from "../../parts/shortcuts.ts";
import { chooseDensity, chosenDensity } from "../../parts/theme.ts";
import { ZoneChoice } from "../../parts/zone-choice.tsx";

/** Settings that this browser keeps. */
export function ThisBrowser() {
  const [areKeysOn, setKeysOn] = useState(areSingleKeysOn);
  return (
    <Section title="This browser">
      <label>
        <input
          type="checkbox"
          checked={areKeysOn}
          onChange={(event) => {
            setSingleKeys(event.target.checked);
            setKeysOn(event.target.checked);
          }}
        />{" "}
        Single keys are shortcuts (press ? for the list)
      </label>
      <ZoneChoice />
      <DensityChoice />
    </Section>
  );
}

/** Chooses how much fits on a screen. */
function DensityChoice() {
  const [density, setDensity] = useState(chosenDensity);
  return (
    <label className={forms.inline}>
      Rows of lists{" "}
      <select
        value={density}
        onChange={({ target }) => {
          const wanted = target.value === "compact" ? "compact" : "usual";
          chooseDensity(wanted);
          setDensity(wanted);
        }}
      >
        <option value="usual">comfortable</option>
        <option value="compact">compact: more of them fit</option>
      </select>
    </label>
  );
}
