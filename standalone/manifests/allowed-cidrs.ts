/**
 * Loopback and private networks: here, a provider may run on this machine or its network if its manifest allows that.
 */
export const upstreamAllowedCidrs = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
]
