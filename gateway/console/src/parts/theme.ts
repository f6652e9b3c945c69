export type Theme = "system" | "light" | "dark";

const name = "muster.theme";

/** The theme chosen in this browser. */
export function chosenTheme(): Theme {
  const theme = localStorage.getItem(name);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(name);
  else localStorage.setItem(name, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
