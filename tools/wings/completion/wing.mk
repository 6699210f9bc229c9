# SPDX-License-Identifier: MIT
# Completion scripts for shells: trace-ctl itself prints the candidates.
WING_PKGS += libtracefs libtraceevent
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISHDIR ?= $(DATADIR)/fish/vendor_completions.d
install: install-completion
install-completion:
	install -d "$(DESTDIR)$(BASHDIR)" "$(DESTDIR)$(ZSHDIR)" "$(DESTDIR)$(FISHDIR)"
	install -m 644 wings/completion/trace-ctl.bash "$(DESTDIR)$(BASHDIR)/trace-ctl"
	install -m 644 wings/completion/_trace-ctl "$(DESTDIR)$(ZSHDIR)"
	install -m 644 wings/completion/trace-ctl.fish "$(DESTDIR)$(FISHDIR)"
.PHONY: install-completion
