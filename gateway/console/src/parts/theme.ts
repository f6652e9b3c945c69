export type Theme = "system" | "light" | "dark";
export type Density = "usual" | "compact";

const [themeName, densityName] = ["muster.theme", "muster.density"];

/** The theme chosen in this browser. */
export function chosenTheme(): Theme {
  const theme = localStorage.getItem(themeName);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(themeName);
  else localStorage.setItem(themeName, theme);
  applyTheme();
}

/** How much fits on a screen, as chosen in this browser. */
export const chosenDensity = (): Density => (localStorage.getItem(densityName) === "compact" ? "compact" : "usual");

export function chooseDensity(density: Density): void {
  if (density === "usual") localStorage.removeItem(densityName);
  else localStorage.setItem(densityName, density);
  applyTheme();
  dispatchEvent(new Event("resize"));
}

/** Puts theme and density where the styles read them. */
export function applyTheme(): void {
  const { dataset } = document.documentElement;
  const theme = chosenTheme();
  if (theme === "system") delete dataset.theme;
  else dataset.theme = theme;
  if (chosenDensity() === "compact") dataset.density = "compact";
  else delete dataset.density;
}
