export const partnerTypes = ["msp", "enterprise", "internal"] as const;
export const partnerPlans = ["free", "starter", "community", "pro", "enterprise", "unlimited"] as const;
export const partnerStatuses = ["pending", "active", "suspended", "churned"] as const;
