/** Hash of signed documents: `route:<model>` and `provider:<name>`. Outside the shards, as all of these. */
export const routesName = 'mg:routes'

/** Revision of `mg:routes`, from Postgres; also the pub/sub channel that announces it. */
export const routesRevisionName = 'mg:routes:rev'

/** Digest of the content of `mg:routes`, as a whole. */
export const routesDigestName = 'mg:routes:digest'

/** Hash of live gateways: instance id → the routes revision it serves and when it reported that. */
export const gatewaysName = 'mg:gateways'
