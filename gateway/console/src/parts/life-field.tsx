import { Field } from "./field.tsx";

const hourMs = 3_600_000;
const lives = [
  [1, "in an hour"],
  [8, "in 8 hours"],
  [24, "in a day"],
  [168, "in a week"],
  [720, "in 30 days"],
] as const;

/** When an enrollment key ends. */
export const LifeField = ({ errors }: { errors: readonly string[] | undefined }) => (
  <Field label="Ends" hint="Short is safe: whoever has the key may enroll." errors={errors}>
    <select name="lifeHours" defaultValue="24">
      {lives.map(([hours, words]) => (
        <option key={hours} value={hours}>
          {words}
        </option>
      ))}
    </select>
  </Field>
);

/** The end that a form chose. */
export const lifeOf = (form: FormData) => ({
  expiresAt: new Date(Date.now() + Number(form.get("lifeHours")) * hourMs).toISOString(),
});
