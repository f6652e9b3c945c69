/**
 * Whether identity knew the caller's partner and organization; an answer from before it learned of them is not
 * remembered.
 */
export const hasTenantStatuses = ({
  partnerStatus,
  orgStatus,
}: {
  partnerStatus: string;
  orgStatus: string;
}): boolean => partnerStatus !== "unknown" && orgStatus !== "unknown";
