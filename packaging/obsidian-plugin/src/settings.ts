// The settings tab. What concerns this computer alone is kept on it, and is not synced with the vault.

import { PluginSettingTab, Setting, type App, type Plugin, type SettingDefinitionItem } from "obsidian";
import type { Starting } from "./starter";

export interface Settings {
  app: App;
  starting: Starting;
  isPaused(): boolean;
  setPaused(paused: boolean): Promise<void>;
  setStarting(starting: Starting): void;
  /** Words about the connection. */
  longState(): string;
}

interface Row {
  name: string;
  desc: string;
  render: (setting: Setting) => void;
}

export class SettingsTab extends PluginSettingTab {
  constructor(plugin: Plugin, private readonly settings: Settings) {
    super(plugin.app, plugin);
  }

  /** Since 1.13 the app shows these rows itself, and finds them in its search. */
  getSettingDefinitions(): SettingDefinitionItem[] {
    return this.rows();
  }

  /** For older versions of the app. */
  display(): void {
    this.containerEl.empty();
    for (const { name, desc, render } of this.rows()) render(new Setting(this.containerEl).setName(name).setDesc(desc));
  }

  private rows(): Row[] {
    const { settings } = this;
    return [
      { name: "Status", desc: settings.longState(), render: () => undefined },
      {
        name: "Pause sharing",
        desc: "Assistants are not told which note is open or what you select. Changes are still shown here.",
        render: (setting) => void setting.addToggle((toggle) => toggle
          .setValue(settings.isPaused())
          .onChange((paused) => settings.setPaused(paused))),
      },
      {
        name: "Start the program on this computer",
        desc: "When no vaultwire runs for this vault, the plugin starts one: the program below, with the words ide --vault "
          + "and the path of this vault. It ends that program when you turn the plugin off or close the window.",
        render: (setting) => void setting.addToggle((toggle) => toggle
          .setValue(settings.starting.isAsked)
          .onChange((isAsked) => settings.setStarting({ ...settings.starting, isAsked }))),
      },
      {
        name: "Program",
        desc: "The whole path of the program. Leave it empty for the one that has installed this plugin.",
        render: (setting) => void setting.addText((text) => text
          .setPlaceholder("/home/me/.local/bin/vaultwire")
          .setValue(settings.starting.program)
          .onChange((program) => settings.setStarting({ ...settings.starting, program }))),
      },
    ];
  }
}
