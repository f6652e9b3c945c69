/** The organization or partner that a row belongs to; neither is the platform. */
export const ownerOf = <P extends string | null>({
  partner_id,
  org_id,
}: {
  partner_id: P;
  org_id: string | null;
}): { partnerId: P; orgId: string | null } => ({ partnerId: partner_id, orgId: org_id });
