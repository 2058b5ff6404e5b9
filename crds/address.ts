import { z } from 'zod'
import { matchesCel, ruled } from './rule.ts'

/**
 * Spelled out so that every parser reads it the same way: a lowercase scheme, no fragment, no white space, ports up to
 * 65535, and a host that is a name, an IPv6 address, or four plain numbers. Some parsers take `127.1` and `0x7f.1` for
 * loopback.
 */
const name = '([\\w-]+\\.)*([A-Za-z]|\\d+[A-WYZa-wyz_-])[\\w-]*\\.?'
const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const host = `(${name}|${octet}(\\.${octet}){3}|\\[[0-9A-Fa-f:.]+\\])`
const port = '(:([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]))?'
const path = "(/([\\w.~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?"
const query = "(\\?([\\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
/** Accepts user information, which has its own rule and message. */
const form = new RegExp(`^https?://([^/?#@]*@)?${host}${port}${path}${query}$`)
const userInfo = /^https?:\/\/[^/?#]*@/

/** The base address of a provider, http or https. */
export const baseAddress = ruled(z.string().max(2048), [
  {
    cel: `${matchesCel(form)} && isURL(self)`,
    message: 'must be a URL such as https://api.openai.com/v1',
    holds: (text) => form.test(text) && URL.canParse(text),
  },
  {
    cel: `!${matchesCel(userInfo)}`,
    message: 'must not contain a user name or password',
    holds: (text) => !userInfo.test(text),
  },
])
