import { expect, test } from 'vitest'
import { shippedTexts } from './shipped-texts.ts'

test('each version of a document is there in both languages', () => {
  const versions = shippedTexts.map(({ kind, version, locale }) => `${kind} ${version} ${locale}`)
  for (const { kind, version } of shippedTexts)
    expect(versions).toEqual(expect.arrayContaining([`${kind} ${version} ru`, `${kind} ${version} en`]))
})

test('a document that users may have agreed to is never changed: a new text is a new file', () => {
  expect(
    Object.fromEntries(shippedTexts.map((one) => [`${one.kind} ${one.version} ${one.locale}`, one.sha256])),
  ).toEqual(published)
})

const published = {
  'offer 2026-11-22 en': '7e8895f895baf9d15bbb93a4af906ca74e099d9ef4e8b6a14ec783dca57c4022',
  'offer 2026-11-22 ru': '81a378c653bdbdd4123b2e96b1e72aeb87bb09f727e3ee2ea5b691b6cb2d08ca',
  'personal_data 2026-11-22 en': '5d63bfd439b3b1ebb2cff83d0cd9c4b535f245e55f65a5a5d9c176d397c892dd',
  'personal_data 2026-11-22 ru': 'ae09683fcdd54f0c58b75c645d8abb8f9964d02a2d5bb96bb28047e917355115',
  'saved_card 2026-11-22 en': 'c043ef2602268d24bf839e3d7a1bb36c9a9f9e5e0eadf68487eb3cabe1d5933e',
  'saved_card 2026-11-22 ru': 'ce25f633fab4557ebe8a8a4f567f47a26fae73712a4ba48eb31ecc1d9a2fd6a8',
}
