/** A temperature as people type it, with a comma or a point: `undefined` is none, `wrong` is not one. Pure. */
export function readTemperature(text: string): number | undefined | 'wrong' {
  const plain = text.normalize('NFKC').trim().replace(',', '.')
  if (plain === '') return undefined
  return /^\d(?:\.\d{1,4})?$/.test(plain) && Number(plain) <= 2 ? Number(plain) : 'wrong'
}

/** A limit of an answer, in tokens. Pure. */
export function readMaxTokens(text: string): number | undefined | 'wrong' {
  const plain = text.normalize('NFKC').replace(/\s/gu, '')
  if (plain === '') return undefined
  return /^[1-9]\d{0,8}$/.test(plain) ? Number(plain) : 'wrong'
}
