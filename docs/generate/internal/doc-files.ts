import { crdsPage } from './crds-page.ts'
import {
  cabinetErrorsPage,
  cabinetErrorsPageInRussian,
  errorsPage,
  errorsPageInRussian,
} from './errors-page.ts'
import { administrationApiPage, httpApiPage } from './http-api-page.ts'
import { metricsPage } from './metrics-page.ts'
import { settingsPage } from './settings-page.ts'
import { valuesPage } from './values-page.ts'

/** The pages that the code determines: path below `docs/` → text. */
export function docFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['operate/settings.md', settingsPage()],
    ['operate/metrics.md', metricsPage()],
    ['operate/crds.md', crdsPage()],
    ['operate/values.md', valuesPage()],
    ['use/errors.md', errorsPage()],
    ['use/ru/errors.md', errorsPageInRussian()],
    ['use/cabinet-errors.md', cabinetErrorsPage()],
    ['use/ru/cabinet-errors.md', cabinetErrorsPageInRussian()],
    ['use/http-api.md', httpApiPage()],
    ['operate/administration-api.md', administrationApiPage()],
  ])
}
