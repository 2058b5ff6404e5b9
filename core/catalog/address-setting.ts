import { listSetting } from '../process/environment.ts'
import { isCidr } from '../process/networks.ts'

/** Loopback, private and link-local ranges that providers may be in if they ask for it. Default none. */
export const allowedCidrsSetting = listSetting
  .refine((cidrs) => cidrs.every(isCidr), 'must be CIDR ranges such as 10.0.0.0/8, separated by commas')
  .default([])
