/** Orders of organizations and sites: by name, or the largest share of offline devices first. */
export const ownerSorts = ["name", "-offline"] as const;
export type OwnerSort = (typeof ownerSorts)[number];

/** What a list of organizations or sites shows of their devices, and its order. */
export type OwnerView = { hasCounts: boolean; sort: OwnerSort };
