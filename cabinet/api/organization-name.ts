/** The header in which a call names the organization that it is for. */
export const organizationHeader = 'organization-id'

/** The same in the query, for clients that cannot send headers: event streams and links to files. The header wins. */
export const organizationParameter = 'organization_id'
