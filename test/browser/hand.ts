import type { Locator } from 'playwright-core'

/** Ways of operating a page: each reaches the target as a user would, or fails. */
export type Hand = {
  press(target: Locator): Promise<void>
  type(target: Locator, text: string): Promise<void>
}

export const mouse: Hand = {
  press: (target) => target.click(),
  type: (target, text) => target.fill(text),
}

export const touch: Hand = {
  press: (target) => target.tap(),
  async type(target, text) {
    await target.tap()
    await target.selectText()
    await target.page().keyboard.insertText(text)
  },
}

/** More than any page has. */
const stopsMax = 120

/** Only the keyboard: Tab to it, Enter or Space on it. */
export const keyboard: Hand = {
  async press(target) {
    await reach(target)
    const isCheckbox = await target.evaluate((element) => element.matches('[type=checkbox], [type=radio]'))
    await target.page().keyboard.press(isCheckbox ? 'Space' : 'Enter')
  },
  async type(target, text) {
    await reach(target)
    await target.selectText()
    await target.page().keyboard.type(text)
  },
}

async function reach(target: Locator): Promise<void> {
  await target.waitFor()
  for (let stops = 0; stops < stopsMax; stops++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await target.page().keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${target}`)
}

/** Both clicks in one turn of the page's event loop: no user is quicker. */
export async function pressTwice(target: Locator): Promise<void> {
  await target.evaluate((button: HTMLElement) => {
    button.click()
    button.click()
  })
}
