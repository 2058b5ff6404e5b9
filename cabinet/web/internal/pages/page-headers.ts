/** The headers of every document. */
export function pageHeaders(otherOrigins: readonly string[]): Readonly<Record<string, string>> {
  return { 'content-security-policy': policyOf(otherOrigins), 'permissions-policy': permissions }
}

/** What the pages never ask a browser for, so that nothing on them can. */
const permissions = [
  'camera',
  'display-capture',
  'geolocation',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
]
  .map((feature) => `${feature}=()`)
  .join(', ')

/** A page may load only our files, and call only us and these origins. Inline scripts do not run. */
function policyOf(otherOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...otherOrigins].join(' ')}`,
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
