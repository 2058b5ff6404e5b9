import { listSetting } from '../process/environment.ts'
import { isCidr } from './address-guard.ts'

/** Loopback, private and link-local ranges where providers that ask for it may be; none unless set: `kubernetes.md`. */
export const allowedCidrsSetting = listSetting
  .refine((cidrs) => cidrs.every(isCidr), 'must be ranges like 10.0.0.0/8, with commas')
  .default([])
