import { isId } from '#core/db/id'

/** What an administrator looks for. */
export type Sought =
  /** `isRequest`: the text has a prefix that only responses have. */
  | { readonly by: 'id'; readonly id: string; readonly isRequest: boolean }
  | { readonly by: 'email'; readonly email: string }
  /** The visible start and end of a key. */
  | { readonly by: 'key'; readonly prefix: string; readonly suffix: string }
  /** A name, or an id of the payment provider. */
  | { readonly by: 'name'; readonly name: string }

const answerId = /^(?:chatcmpl-|resp_|msg_)(.+)$/
/** As pages show it: `sk-gateway-07Ab…wxyz`; also with dots, or only its start. */
const keyHint = /^(sk-gateway-[\w-]{0,4})(?:\s*(?:…|\.{2,}|\*+|\s)\s*([\w-]{0,4}))?$/
/** A whole secret that was pasted. Only its visible parts are looked up, and nothing else of it is kept. */
const wholeKey = /^(sk-gateway-[\w-]{4})[\w-]+([\w-]{4})$/

/** What a text in the search field means. Pure. */
export function readSearchText(text: string): Sought {
  const plain = text.trim()
  const [, ofAnswer] = answerId.exec(plain) ?? []
  const id = (ofAnswer ?? plain).toLowerCase()
  if (isId(id)) return { by: 'id', id, isRequest: ofAnswer !== undefined }
  const [, prefix, suffix = ''] = keyHint.exec(plain) ?? wholeKey.exec(plain) ?? []
  if (prefix !== undefined) return { by: 'key', prefix, suffix }
  if (plain.includes('@')) return { by: 'email', email: plain.toLowerCase() }
  return { by: 'name', name: plain }
}
