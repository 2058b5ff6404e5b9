import type { ru } from './passkey-messages.ru.ts'

export const en: typeof ru = {
  passkeys: 'Passkeys',
  lead: 'Sign in with a fingerprint, a face or a PIN instead of the password and the code. A fake site cannot obtain a passkey.',
  none: 'There are no passkeys yet.',
  unsupported: 'This browser or the address of this page does not support passkeys.',
  add: 'Add a passkey',
  addTitle: 'New passkey',
  addLead: 'Confirm that it is you. Then the browser offers a device for the passkey.',
  name: 'Name',
  nameMissing: 'Enter a name',
  refused: {
    canceled: 'No passkey was created: the request was canceled or timed out. Try again.',
    known: 'This device already has a passkey of your account.',
  },
  addedNow: 'Passkey added',
  added: 'added',
  lastUsed: 'last sign-in',
  neverUsed: 'not used yet',
  remove: 'Remove',
  removeOf: (name: string) => `Remove the passkey: ${name}`,
  removeTitle: (name: string) => `Remove the passkey “${name}”`,
  removeLead: 'It will no longer sign you in. The passkey itself stays on the device: remove it there, too.',
  removedNow: 'Passkey removed',
}
