export const partnerTypes = ["msp", "enterprise", "internal"] as const;
export const partnerPlans = ["free", "starter", "community", "pro", "enterprise", "unlimited"] as const;
export const partnerStatuses = ["pending", "active", "suspended", "churned"] as const;

/** Options of a select whose values are words already. */
export const Options = ({ of }: { of: readonly string[] }) => of.map((each) => <option key={each}>{each}</option>);
